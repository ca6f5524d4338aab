"""Portuguese words: months, coins, measures, abbreviations. A noun is its gender and its forms, the singular first."""

from __future__ import annotations

from myxtts.features.normalise.counting import listed

MONTHS = tuple(listed("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"))
SHORT_MONTHS = {
    "jan": 1, "fev": 2, "mar": 3, "abr": 4, "mai": 5, "jun": 6, "jul": 7, "ago": 8, "set": 9, "out": 10, "nov": 11,
    "dez": 12,
}  # fmt: skip
SYMBOLS = {
    "&": "e", "+": "mais", "=": "igual a", "×": "vezes", "÷": "dividido por", "±": "mais ou menos",
    "≈": "aproximadamente", "≠": "diferente de", "≤": "menor ou igual a", "≥": "maior ou igual a", "<": "menor que",
    ">": "maior que", "∞": "infinito", "√": "raiz quadrada de", "%": "por cento", "‰": "por mil", "°": "graus",
    "§": "parágrafo", "©": "copyright", "®": "marca registada", "™": "marca", "№": "número", "#": "número",
    "@": "arroba", "/": "barra", "²": "ao quadrado", "³": "ao cubo", "µ": "micro", "→": "para", "$": "dólares",
    "€": "euros", "£": "libras", "¥": "ienes", "₹": "rupias", "₽": "rublos", "~": "cerca de", "¢": "centavos",
}  # fmt: skip
IN_ADDRESS = {
    ".": "ponto", "@": "arroba", "/": "barra", "-": "hífen", "_": "sublinhado", ":": "dois pontos",
    "?": "ponto de interrogação", "=": "igual", "&": "e", "#": "cardinal", "%": "por cento", "+": "mais", "~": "til",
}  # fmt: skip
CURRENCIES = {
    "EUR": "m|euro|euros;m|cêntimo|cêntimos", "USD": "m|dólar|dólares;m|cêntimo|cêntimos",
    "BRL": "m|real|reais;m|centavo|centavos", "GBP": "f|libra|libras;m|péni|pence", "JPY": "m|iene|ienes",
    "RUB": "m|rublo|rublos;m|copeque|copeques", "CHF": "m|franco suíço|francos suíços", "INR": "f|rupia|rupias",
    "CNY": "m|yuan|yuans", "TRY": "f|lira turca|liras turcas", "BTC": "m|bitcoin|bitcoins", "KRW": "m|won|wons",
    "AOA": "m|kwanza|kwanzas",
}  # fmt: skip
SCALES = {
    "mi": "m|milhão|milhões", "bi": "m|bilhão|bilhões", "milhão": "m|milhão", "milhões": "m|milhões",
    "bilhão": "m|bilhão", "bilhões": "m|bilhões", "mil milhões": "m|mil milhões", "mil": "|mil",
    "M": "m|milhão|milhões",
}  # fmt: skip
UNITS = {
    "%": "m|por cento", "‰": "m|por mil", "°C": "m|grau Celsius|graus Celsius", "℃": "m|grau Celsius|graus Celsius",
    "ºC": "m|grau Celsius|graus Celsius", "°F": "m|grau Fahrenheit|graus Fahrenheit", "°": "m|grau|graus",
    "mm": "m|milímetro|milímetros", "cm": "m|centímetro|centímetros", "m": "m|metro|metros",
    "km": "m|quilómetro|quilómetros", "m²": "m|metro quadrado|metros quadrados",
    "m2": "m|metro quadrado|metros quadrados", "km²": "m|quilómetro quadrado|quilómetros quadrados",
    "m³": "m|metro cúbico|metros cúbicos", "cm²": "m|centímetro quadrado|centímetros quadrados",
    "ha": "m|hectare|hectares", "mg": "m|miligrama|miligramas", "g": "m|grama|gramas",
    "kg": "m|quilograma|quilogramas", "t": "f|tonelada|toneladas", "ml": "m|mililitro|mililitros",
    "cl": "m|centilitro|centilitros", "l": "m|litro|litros", "L": "m|litro|litros",
    "ms": "m|milissegundo|milissegundos", "s": "m|segundo|segundos", "seg": "m|segundo|segundos",
    "min": "m|minuto|minutos", "km/h": "m|quilómetro por hora|quilómetros por hora",
    "m/s": "m|metro por segundo|metros por segundo", "Hz": "m|hertz", "kHz": "m|quilohertz", "MHz": "m|megahertz",
    "GHz": "m|gigahertz", "KB": "m|quilobyte|quilobytes", "MB": "m|megabyte|megabytes", "GB": "m|gigabyte|gigabytes",
    "TB": "m|terabyte|terabytes", "Mbps": "m|megabit por segundo|megabits por segundo", "W": "m|watt|watts",
    "kW": "m|quilowatt|quilowatts", "MW": "m|megawatt|megawatts", "kWh": "m|quilowatt-hora|quilowatts-hora",
    "V": "m|volt|volts", "Ω": "m|ohm|ohms", "cal": "f|caloria|calorias", "kcal": "f|quilocaloria|quilocalorias",
    "dB": "m|decibel|decibéis", "px": "m|pixel|pixels", "€/kg": "m|euro o quilo|euros o quilo",
}  # fmt: skip
SHORTENED = {
    "Sr.": "senhor", "Sra.": "senhora", "Srta.": "senhorita", "Srs.": "senhores", "Dr.": "doutor", "Dra.": "doutora",
    "Prof.": "professor", "Profa.": "professora", "Profª": "professora", "Eng.": "engenheiro", "D.": "dom",
    "Exmo.": "excelentíssimo", "V.Exa.": "vossa excelência", "etc.": "et cetera.", "p.ex.": "por exemplo",
    "a.C.": "antes de Cristo.", "d.C.": "depois de Cristo.", "Av.": "avenida", "R.": "rua",
    "tel.": "telefone", "Tel.": "telefone", "máx.": "máximo", "mín.": "mínimo", "aprox.": "aproximadamente",
    "Ltda.": "limitada.", "Lda.": "limitada.", "S.A.": "sociedade anónima.", "Cia.": "companhia.",
    "EUA": "Estados Unidos", "vs.": "versus", "vs": "versus", "e/ou": "e ou", "Sto.": "santo", "Sta.": "santa",
    "hab.": "habitantes.", "dto.": "direito", "esq.": "esquerdo", "P.S.": "post scriptum", "Gov.": "governador",
    "Pça.": "praça", "vc": "você", "vcs": "vocês", "tb": "também", "obs.": "observação",
}  # fmt: skip
BEFORE_NUMBERS = {
    "n.º": "número", "nº": "número", "n°": "número", "Nº": "número", "N°": "número", "n.": "número", "núm.": "número",
    "p.": "página", "pág.": "página", "págs.": "páginas", "pp.": "páginas", "art.": "artigo", "Art.": "artigo",
    "cap.": "capítulo", "vol.": "volume", "fig.": "figura", "§": "parágrafo", "#": "número", "apto.": "apartamento",
    "ap.": "apartamento",
}  # fmt: skip
