"""Spanish words: months, coins, measures, abbreviations. A noun is its gender and its forms, the singular first."""

from __future__ import annotations

from myxtts.features.normalise.counting import listed

MONTHS = tuple(listed("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"))
SHORT_MONTHS = {
    "ene": 1, "feb": 2, "mar": 3, "abr": 4, "jun": 6, "jul": 7, "ago": 8, "sep": 9, "sept": 9, "setiembre": 9,
    "oct": 10, "nov": 11, "dic": 12,
}  # fmt: skip
SYMBOLS = {
    "&": "y", "+": "más", "=": "igual a", "×": "por", "÷": "entre", "±": "más menos", "≈": "aproximadamente",
    "≠": "distinto de", "≤": "menor o igual que", "≥": "mayor o igual que", "<": "menor que", ">": "mayor que",
    "∞": "infinito", "√": "raíz cuadrada de", "%": "por ciento", "‰": "por mil", "°": "grados", "§": "sección",
    "©": "copyright", "®": "marca registrada", "™": "marca", "№": "número", "#": "número", "@": "arroba",
    "/": "barra", "²": "al cuadrado", "³": "al cubo", "µ": "micro", "→": "a", "$": "dólares", "€": "euros",
    "£": "libras", "¥": "yenes", "₹": "rupias", "₽": "rublos", "~": "aproximadamente", "¢": "centavos",
}  # fmt: skip
IN_ADDRESS = {
    ".": "punto", "@": "arroba", "/": "barra", "-": "guion", "_": "guion bajo", ":": "dos puntos",
    "?": "interrogación", "=": "igual", "&": "y", "#": "almohadilla", "%": "por ciento", "+": "más", "~": "tilde",
}  # fmt: skip
CURRENCIES = {
    "EUR": "m|euro|euros;m|céntimo|céntimos", "USD": "m|dólar|dólares;m|centavo|centavos",
    "GBP": "f|libra|libras;m|penique|peniques", "JPY": "m|yen|yenes", "RUB": "m|rublo|rublos;m|kopek|kopeks",
    "CHF": "m|franco suizo|francos suizos;m|céntimo|céntimos",
    "MXN": "m|peso mexicano|pesos mexicanos;m|centavo|centavos",
    "ARS": "m|peso argentino|pesos argentinos;m|centavo|centavos", "COP": "m|peso colombiano|pesos colombianos",
    "CLP": "m|peso chileno|pesos chilenos", "PEN": "m|sol|soles;m|céntimo|céntimos", "INR": "f|rupia|rupias",
    "CNY": "m|yuan|yuanes", "TRY": "f|lira|liras", "KRW": "m|won|wones", "BTC": "m|bitcóin|bitcoines",
    "BRL": "m|real|reales", "UAH": "f|grivna|grivnas", "ILS": "m|séquel|séqueles",
}  # fmt: skip
SCALES = {
    "M": "m|millón|millones", "mill.": "m|millón|millones", "millón": "m|millón", "millones": "m|millones",
    "mil": "|mil", "mil millones": "m|mil millones", "K": "|mil", "billones": "m|billones", "MM": "m|mil millones",
}  # fmt: skip
UNITS = {
    "%": "m|por ciento", "‰": "m|por mil", "°C": "m|grado Celsius|grados Celsius",
    "℃": "m|grado Celsius|grados Celsius", "ºC": "m|grado Celsius|grados Celsius",
    "°F": "m|grado Fahrenheit|grados Fahrenheit", "°": "m|grado|grados", "mm": "m|milímetro|milímetros",
    "cm": "m|centímetro|centímetros", "m": "m|metro|metros", "km": "m|kilómetro|kilómetros",
    "Km": "m|kilómetro|kilómetros", "mts": "m|metro|metros", "cm²": "m|centímetro cuadrado|centímetros cuadrados",
    "m²": "m|metro cuadrado|metros cuadrados", "m2": "m|metro cuadrado|metros cuadrados",
    "km²": "m|kilómetro cuadrado|kilómetros cuadrados", "m³": "m|metro cúbico|metros cúbicos",
    "m3": "m|metro cúbico|metros cúbicos", "cm³": "m|centímetro cúbico|centímetros cúbicos",
    "ha": "f|hectárea|hectáreas", "mg": "m|miligramo|miligramos", "g": "m|gramo|gramos", "gr": "m|gramo|gramos",
    "kg": "m|kilogramo|kilogramos", "Kg": "m|kilogramo|kilogramos", "t": "f|tonelada|toneladas",
    "µg": "m|microgramo|microgramos", "ml": "m|mililitro|mililitros", "mL": "m|mililitro|mililitros",
    "cl": "m|centilitro|centilitros", "l": "m|litro|litros", "L": "m|litro|litros", "lb": "f|libra|libras",
    "ms": "m|milisegundo|milisegundos", "s": "m|segundo|segundos", "seg": "m|segundo|segundos",
    "min": "m|minuto|minutos", "h": "f|hora|horas", "hs": "f|hora|horas", "hrs": "f|hora|horas",
    "km/h": "m|kilómetro por hora|kilómetros por hora", "m/s": "m|metro por segundo|metros por segundo",
    "Hz": "m|hercio|hercios", "kHz": "m|kilohercio|kilohercios", "MHz": "m|megahercio|megahercios",
    "GHz": "m|gigahercio|gigahercios", "kB": "m|kilobyte|kilobytes", "KB": "m|kilobyte|kilobytes",
    "MB": "m|megabyte|megabytes", "GB": "m|gigabyte|gigabytes", "TB": "m|terabyte|terabytes",
    "Mbps": "m|megabit por segundo|megabits por segundo", "W": "m|vatio|vatios", "kW": "m|kilovatio|kilovatios",
    "MW": "m|megavatio|megavatios", "kWh": "m|kilovatio hora|kilovatios hora", "V": "m|voltio|voltios",
    "mAh": "m|miliamperio hora|miliamperios hora", "Ω": "m|ohmio|ohmios", "hPa": "m|hectopascal|hectopascales",
    "cal": "f|caloría|calorías", "kcal": "f|kilocaloría|kilocalorías", "dB": "m|decibelio|decibelios",
    "px": "m|píxel|píxeles", "CV": "m|caballo|caballos", "rpm": "f|revolución por minuto|revoluciones por minuto",
    "€/kg": "m|euro el kilo|euros el kilo", "€/m²": "m|euro por metro cuadrado|euros por metro cuadrado",
    "€/mes": "m|euro al mes|euros al mes",
}  # fmt: skip
SHORTENED = {
    "Sr.": "señor", "Sra.": "señora", "Srta.": "señorita", "Sres.": "señores", "Dr.": "doctor", "Dra.": "doctora",
    "D.": "don", "Dña.": "doña", "Da.": "doña", "Prof.": "profesor", "Ing.": "ingeniero", "Lic.": "licenciado",
    "Ud.": "usted", "Uds.": "ustedes", "Vd.": "usted", "Vds.": "ustedes", "etc.": "etcétera.", "p.ej.": "por ejemplo",
    "ej.": "ejemplo", "EE.UU.": "Estados Unidos.", "EEUU": "Estados Unidos", "EE. UU.": "Estados Unidos.",
    "a.C.": "antes de Cristo.", "d.C.": "después de Cristo.", "Av.": "avenida", "Avda.": "avenida", "Avda": "avenida",
    "C/": "calle", "c/": "calle", "incl.": "incluido", "lun.": "lunes", "mié.": "miércoles", "jue.": "jueves",
    "vie.": "viernes", "sáb.": "sábado", "dom.": "domingo", "tel.": "teléfono", "Tel.": "teléfono", "máx.": "máximo",
    "mín.": "mínimo",
    "aprox.": "aproximadamente", "pág.": "página", "dcha.": "derecha", "izq.": "izquierda", "gral.": "general",
    "Gral.": "general", "S.A.": "sociedad anónima.", "S.L.": "sociedad limitada.", "Cía.": "compañía.",
    "Sta.": "santa", "Sto.": "santo", "S.M.": "su majestad", "vs.": "versus", "vs": "versus", "y/o": "y o",
    "c/u": "cada uno", "p/": "por", "Mons.": "monseñor", "depto.": "departamento", "Dpto.": "departamento",
    "admón.": "administración", "hab.": "habitantes.", "P.D.": "posdata", "a.m.": "a eme.", "p.m.": "pe eme.",
}  # fmt: skip
BEFORE_NUMBERS = {
    "n.º": "número", "n.°": "número", "N.º": "número", "nº": "número", "n°": "número", "Nº": "número", "N°": "número",
    "núm.": "número", "No.": "número", "Núm.": "número", "pág.": "página", "págs.": "páginas",
    "p.": "página", "pp.": "páginas", "art.": "artículo", "Art.": "artículo", "cap.": "capítulo", "Cap.": "capítulo",
    "vol.": "volumen", "fig.": "figura", "ext.": "extensión", "§": "sección", "#": "número", "s.": "siglo",
}  # fmt: skip
