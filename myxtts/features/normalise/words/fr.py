"""French words: months, coins, measures, abbreviations. A noun is its gender and its forms, the singular first."""

from __future__ import annotations

from myxtts.features.normalise.counting import listed

DAYS = listed("lundi mardi mercredi jeudi vendredi samedi dimanche")
MONTHS = tuple(listed("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"))
SHORT_MONTHS = {
    "janv": 1, "févr": 2, "fév": 2, "avr": 4, "juil": 7, "sept": 9, "oct": 10, "nov": 11, "déc": 12,
}  # fmt: skip
SYMBOLS = {
    "&": "et", "+": "plus", "=": "égale", "×": "fois", "÷": "divisé par", "±": "plus ou moins", "≈": "environ",
    "≠": "différent de", "≤": "inférieur ou égal à", "≥": "supérieur ou égal à", "<": "inférieur à",
    ">": "supérieur à", "∞": "infini", "√": "racine carrée de", "%": "pour cent", "‰": "pour mille", "°": "degrés",
    "§": "paragraphe", "©": "copyright", "®": "marque déposée", "™": "marque", "№": "numéro", "#": "dièse",
    "@": "arobase", "/": "barre oblique", "²": "au carré", "³": "au cube", "µ": "micro", "→": "vers", "$": "dollars",
    "€": "euros", "£": "livres", "¥": "yens", "₹": "roupies", "₽": "roubles", "~": "environ", "¢": "centimes",
}  # fmt: skip
IN_ADDRESS = {
    ".": "point", "@": "arobase", "/": "barre oblique", "-": "tiret", "_": "tiret bas", ":": "deux-points",
    "?": "point d'interrogation", "=": "égale", "&": "et", "#": "dièse", "%": "pour cent", "+": "plus", "~": "tilde",
}  # fmt: skip
CURRENCIES = {
    "EUR": "m|euro|euros;m|centime|centimes", "USD": "m|dollar|dollars;m|cent|cents",
    "GBP": "f|livre|livres;m|penny|pence", "JPY": "m|yen|yens", "RUB": "m|rouble|roubles;m|kopeck|kopecks",
    "CHF": "m|franc suisse|francs suisses;m|centime|centimes",
    "CAD": "m|dollar canadien|dollars canadiens;m|cent|cents", "INR": "f|roupie|roupies", "CNY": "m|yuan|yuans",
    "TRY": "f|livre turque|livres turques", "KRW": "m|won|wons", "UAH": "f|hryvnia|hryvnias",
    "ILS": "m|shekel|shekels", "BTC": "m|bitcoin|bitcoins", "BRL": "m|réal|réaux", "FCFA": "m|franc CFA|francs CFA",
    "MAD": "m|dirham|dirhams;m|centime|centimes", "DH": "m|dirham|dirhams;m|centime|centimes",
}  # fmt: skip
SCALES = {
    "M": "m|million|millions", "Md": "m|milliard|milliards", "Mds": "m|milliard|milliards", "k": "|mille",
    "million": "m|million", "millions": "m|millions", "milliard": "m|milliard", "milliards": "m|milliards",
    "mille": "|mille",
}  # fmt: skip
UNITS = {
    "c. à s.": "f|cuillère à soupe|cuillères à soupe", "c. à c.": "f|cuillère à café|cuillères à café",
    "%": "m|pour cent", "‰": "m|pour mille", "°C": "m|degré Celsius|degrés Celsius",
    "℃": "m|degré Celsius|degrés Celsius", "°F": "m|degré Fahrenheit|degrés Fahrenheit", "°": "m|degré|degrés",
    "mm": "m|millimètre|millimètres", "cm": "m|centimètre|centimètres", "m": "m|mètre|mètres",
    "km": "m|kilomètre|kilomètres", "µm": "m|micromètre|micromètres", "mm²": "m|millimètre carré|millimètres carrés",
    "cm²": "m|centimètre carré|centimètres carrés", "m²": "m|mètre carré|mètres carrés",
    "m2": "m|mètre carré|mètres carrés", "km²": "m|kilomètre carré|kilomètres carrés",
    "m³": "m|mètre cube|mètres cubes", "m3": "m|mètre cube|mètres cubes",
    "cm³": "m|centimètre cube|centimètres cubes", "ha": "m|hectare|hectares", "mg": "m|milligramme|milligrammes",
    "g": "m|gramme|grammes", "kg": "m|kilogramme|kilogrammes", "t": "f|tonne|tonnes",
    "µg": "m|microgramme|microgrammes", "ml": "m|millilitre|millilitres", "cl": "m|centilitre|centilitres",
    "dl": "m|décilitre|décilitres", "l": "m|litre|litres", "L": "m|litre|litres", "mL": "m|millilitre|millilitres",
    "ms": "f|milliseconde|millisecondes", "s": "f|seconde|secondes", "sec": "f|seconde|secondes",
    "min": "f|minute|minutes", "mn": "f|minute|minutes", "h": "f|heure|heures",
    "km/h": "m|kilomètre par heure|kilomètres par heure", "kmh": "m|kilomètre par heure|kilomètres par heure",
    "m/s": "m|mètre par seconde|mètres par seconde", "Hz": "m|hertz", "kHz": "m|kilohertz", "MHz": "m|mégahertz",
    "GHz": "m|gigahertz", "ko": "m|kilooctet|kilooctets", "Ko": "m|kilooctet|kilooctets",
    "Mo": "m|mégaoctet|mégaoctets", "Go": "m|gigaoctet|gigaoctets", "To": "m|téraoctet|téraoctets",
    "MB": "m|mégaoctet|mégaoctets", "GB": "m|gigaoctet|gigaoctets",
    "Mbit/s": "m|mégabit par seconde|mégabits par seconde", "Mb/s": "m|mégabit par seconde|mégabits par seconde",
    "W": "m|watt|watts", "kW": "m|kilowatt|kilowatts", "MW": "m|mégawatt|mégawatts",
    "kWh": "m|kilowattheure|kilowattheures", "V": "m|volt|volts", "mAh": "m|milliampère-heure|milliampères-heure",
    "Ω": "m|ohm|ohms", "hPa": "m|hectopascal|hectopascals", "bar": "m|bar|bars", "cal": "f|calorie|calories",
    "kcal": "f|kilocalorie|kilocalories", "kJ": "m|kilojoule|kilojoules", "dB": "m|décibel|décibels",
    "ch": "m|cheval|chevaux", "€/kg": "m|euro le kilo|euros le kilo",
    "€/m²": "m|euro le mètre carré|euros le mètre carré", "€/h": "m|euro de l'heure|euros de l'heure",
    "€/mois": "m|euro par mois|euros par mois", "ans": "m|ans",
    "l/100 km": "m|litre aux cent kilomètres|litres aux cent kilomètres",
    "tr/min": "m|tour par minute|tours par minute",
}  # fmt: skip
SHORTENED = {
    "arr.": "arrondissement",
    "MM.": "messieurs", "Mme": "madame", "Mme.": "madame", "Mmes": "mesdames", "Mlle": "mademoiselle",
    "Mlles": "mesdemoiselles", "Dr": "docteur", "Dr.": "docteur", "Pr": "professeur",
    "Mgr": "monseigneur", "St": "saint", "Ste": "sainte", "etc.": "et cetera.", "p.ex.": "par exemple",
    "c.-à-d.": "c'est-à-dire", "càd": "c'est-à-dire", "cf.": "confer", "env.": "environ",
    "max.": "maximum", "min.": "minimum", "tél.": "téléphone", "svp": "s'il vous plaît", "SVP": "s'il vous plaît",
    "stp": "s'il te plaît", "rdv": "rendez-vous", "RDV": "rendez-vous", "bd": "boulevard", "Bd": "boulevard",
    "bd.": "boulevard", "av.": "avenue", "apr.": "après", "qqch": "quelque chose", "qqn": "quelqu'un",

    "hab.": "habitants.", "sté": "société", "Cie": "compagnie", "Cie.": "compagnie.",
    "vs": "versus", "vs.": "versus", "et/ou": "et ou", "N.B.": "nota bene", "P.-S.": "post-scriptum", "PS": "P S",
    "av.J.-C.": "avant Jésus-Christ.", "apr.J.-C.": "après Jésus-Christ.", "J.-C.": "Jésus-Christ.", "M.": "monsieur",
}  # fmt: skip
BEFORE_NUMBERS = {
    "n°": "numéro", "N°": "numéro", "nº": "numéro", "no": "numéro", "n.": "numéro", "p.": "page", "pp.": "pages",
    "chap.": "chapitre", "art.": "article", "vol.": "volume", "fig.": "figure", "t.": "tome", "al.": "alinéa",
    "§": "paragraphe", "№": "numéro",
}  # fmt: skip
