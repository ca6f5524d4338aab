"""Italian words: months, coins, measures, abbreviations. A noun is its gender and its forms, the singular first."""

from __future__ import annotations

from myxtts.features.normalise.counting import listed

MONTHS = tuple(listed("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"))
SHORT_MONTHS = {
    "gen": 1, "genn": 1, "feb": 2, "mar": 3, "apr": 4, "mag": 5, "giu": 6, "lug": 7, "ago": 8, "set": 9, "sett": 9,
    "ott": 10, "nov": 11, "dic": 12,
}  # fmt: skip
SYMBOLS = {
    "&": "e", "+": "più", "=": "uguale", "×": "per", "÷": "diviso", "±": "più o meno", "≈": "circa",
    "≠": "diverso da", "≤": "minore o uguale a", "≥": "maggiore o uguale a", "<": "minore di", ">": "maggiore di",
    "∞": "infinito", "√": "radice quadrata di", "%": "per cento", "‰": "per mille", "°": "gradi", "§": "paragrafo",
    "©": "copyright", "®": "marchio registrato", "™": "marchio", "№": "numero", "#": "cancelletto", "@": "chiocciola",
    "/": "barra", "²": "al quadrato", "³": "al cubo", "µ": "micro", "→": "verso", "$": "dollari", "€": "euro",
    "£": "sterline", "¥": "yen", "₹": "rupie", "₽": "rubli", "~": "circa", "¢": "centesimi",
}  # fmt: skip
IN_ADDRESS = {
    ".": "punto", "@": "chiocciola", "/": "barra", "-": "trattino", "_": "trattino basso", ":": "due punti",
    "?": "punto interrogativo", "=": "uguale", "&": "e", "#": "cancelletto", "%": "per cento", "+": "più",
    "~": "tilde",
}  # fmt: skip
CURRENCIES = {
    "EUR": "m|euro;m|centesimo|centesimi", "USD": "m|dollaro|dollari;m|centesimo|centesimi",
    "GBP": "f|sterlina|sterline;m|penny|pence", "JPY": "m|yen", "RUB": "m|rublo|rubli;m|copeco|copechi",
    "CHF": "m|franco svizzero|franchi svizzeri;m|centesimo|centesimi", "INR": "f|rupia|rupie", "CNY": "m|yuan",
    "TRY": "f|lira turca|lire turche", "BTC": "m|bitcoin", "BRL": "m|real|reais", "KRW": "m|won", "L.": "f|lira|lire",
}  # fmt: skip
SCALES = {
    "mln": "m|milione|milioni", "mld": "m|miliardo|miliardi", "mln.": "m|milione|milioni",
    "mld.": "m|miliardo|miliardi", "milione": "m|milione", "milioni": "m|milioni", "miliardo": "m|miliardo",
    "miliardi": "m|miliardi", "mila": "|mila",
}  # fmt: skip
UNITS = {
    "%": "m|per cento", "‰": "m|per mille", "°C": "m|grado Celsius|gradi Celsius",
    "℃": "m|grado Celsius|gradi Celsius", "ºC": "m|grado Celsius|gradi Celsius",
    "°F": "m|grado Fahrenheit|gradi Fahrenheit", "mm": "m|millimetro|millimetri", "cm": "m|centimetro|centimetri",
    "m": "m|metro|metri", "km": "m|chilometro|chilometri", "cm²": "m|centimetro quadrato|centimetri quadrati",
    "m²": "m|metro quadrato|metri quadrati", "m2": "m|metro quadrato|metri quadrati",
    "mq": "m|metro quadrato|metri quadrati", "km²": "m|chilometro quadrato|chilometri quadrati",
    "m³": "m|metro cubo|metri cubi", "mc": "m|metro cubo|metri cubi", "ha": "m|ettaro|ettari",
    "mg": "m|milligrammo|milligrammi", "g": "m|grammo|grammi", "gr": "m|grammo|grammi",
    "kg": "m|chilogrammo|chilogrammi", "t": "f|tonnellata|tonnellate", "ml": "m|millilitro|millilitri",
    "cl": "m|centilitro|centilitri", "l": "m|litro|litri", "L": "m|litro|litri", "ms": "m|millisecondo|millisecondi",
    "s": "m|secondo|secondi", "sec": "m|secondo|secondi", "min": "m|minuto|minuti", "h": "f|ora|ore",
    "km/h": "m|chilometro all'ora|chilometri all'ora", "Km/h": "m|chilometro all'ora|chilometri all'ora",
    "m/s": "m|metro al secondo|metri al secondo", "Hz": "m|hertz", "kHz": "m|kilohertz", "MHz": "m|megahertz",
    "GHz": "m|gigahertz", "KB": "m|kilobyte", "MB": "m|megabyte", "GB": "m|gigabyte", "TB": "m|terabyte",
    "Mbps": "m|megabit al secondo", "W": "m|watt", "kW": "m|chilowatt", "MW": "m|megawatt", "kWh": "m|chilowattora",
    "V": "m|volt", "mAh": "m|milliampereora", "Ω": "m|ohm", "hPa": "m|ettopascal", "cal": "f|caloria|calorie",
    "kcal": "f|chilocaloria|chilocalorie", "dB": "m|decibel", "px": "m|pixel", "CV": "m|cavallo|cavalli",
    "€/kg": "m|euro al chilo", "€/mq": "m|euro al metro quadrato", "€/mese": "m|euro al mese",
}  # fmt: skip
SHORTENED = {
    "sec.": "secolo.", "Sig.": "signor", "sig.": "signor", "Sig.ra": "signora", "Sig.na": "signorina",
    "Sigg.": "signori", "Dott.": "dottor", "dott.": "dottor", "Dott.ssa": "dottoressa", "Dr.": "dottor",
    "Prof.": "professor", "prof.": "professor", "Prof.ssa": "professoressa", "Avv.": "avvocato", "Ing.": "ingegner",
    "Arch.": "architetto", "On.": "onorevole", "Rag.": "ragionier", "Geom.": "geometra", "ecc.": "eccetera.",
    "etc.": "eccetera.", "es.": "esempio", "p.es.": "per esempio", "ad es.": "ad esempio", "a.C.": "avanti Cristo.",
    "d.C.": "dopo Cristo.", "tel.": "telefono", "Tel.": "telefono", "cell.": "cellulare", "max.": "massimo",
    "min.": "minimo", "ca.": "circa", "cfr.": "confronta", "v.le": "viale", "P.za": "piazza", "p.zza": "piazza",
    "c.so": "corso", "S.p.A.": "società per azioni.", "S.r.l.": "S r l.", "vs.": "contro", "vs": "contro",
    "c.m.": "corrente mese.", "u.s.": "ultimo scorso.", "gg": "giorni", "e/o": "e o", "N.B.": "nota bene",
    "P.S.": "post scriptum", "prov.": "provincia", "St.": "saint", "ab.": "abitanti.", "uff.": "ufficio",
    "gent.mo": "gentilissimo",
}  # fmt: skip
BEFORE_NUMBERS = {
    "n.": "numero", "N.": "numero", "nr.": "numero", "n°": "numero", "n.°": "numero", "nº": "numero", "N°": "numero",
    "num.": "numero", "p.": "pagina", "pag.": "pagina", "pagg.": "pagine", "pp.": "pagine", "art.": "articolo",
    "artt.": "articoli", "cap.": "capitolo", "vol.": "volume", "fig.": "figura", "co.": "comma", "tab.": "tabella",
    "§": "paragrafo", "#": "numero",
}  # fmt: skip
