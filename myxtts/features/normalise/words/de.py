"""German words: months, coins, measures, abbreviations. A noun is its gender and its forms, the singular first."""

from __future__ import annotations

from myxtts.features.normalise.counting import listed

DAYS = listed("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag")
MONTHS = tuple(listed("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"))
SHORT_MONTHS = {
    "Jan": 1, "Jänner": 1, "Feb": 2, "Mär": 3, "Mrz": 3, "Apr": 4, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Sept": 9,
    "Okt": 10, "Nov": 11, "Dez": 12,
}  # fmt: skip
SYMBOLS = {
    "&": "und", "+": "plus", "=": "gleich", "×": "mal", "÷": "geteilt durch", "±": "plus minus", "≈": "ungefähr",
    "≠": "ungleich", "≤": "kleiner gleich", "≥": "größer gleich", "<": "kleiner als", ">": "größer als",
    "∞": "unendlich", "√": "Wurzel aus", "%": "Prozent", "‰": "Promille", "°": "Grad", "§": "Paragraf",
    "©": "Copyright", "®": "eingetragene Marke", "™": "Trademark", "№": "Nummer", "#": "Raute", "@": "ät",
    "/": "Schrägstrich", "²": "Quadrat", "³": "hoch drei", "µ": "Mikro", "→": "nach", "$": "Dollar", "€": "Euro",
    "£": "Pfund", "¥": "Yen", "₹": "Rupien", "₽": "Rubel", "~": "etwa", "¢": "Cent",
}  # fmt: skip
IN_ADDRESS = {
    ".": "Punkt", "@": "ät", "/": "Schrägstrich", "-": "Bindestrich", "_": "Unterstrich", ":": "Doppelpunkt",
    "?": "Fragezeichen", "=": "gleich", "&": "und", "#": "Raute", "%": "Prozent", "+": "plus", "~": "Tilde",
}  # fmt: skip
CURRENCIES = {
    "EUR": "m|Euro;m|Cent", "Euro": "m|Euro;m|Cent", "USD": "m|Dollar;m|Cent", "GBP": "n|Pfund;m|Penny|Pence",
    "JPY": "m|Yen", "RUB": "m|Rubel;f|Kopeke|Kopeken", "INR": "f|Rupie|Rupien", "CNY": "m|Yuan",
    "CHF": "m|Schweizer Franken;m|Rappen", "Fr.": "m|Franken;m|Rappen", "TRY": "f|Lira|Lira", "KRW": "m|Won",
    "UAH": "f|Hrywnja", "ILS": "m|Schekel", "BTC": "m|Bitcoin|Bitcoins", "BRL": "m|Real|Reais", "PLN": "m|Zloty",
    "DM": "f|D-Mark", "CAD": "m|kanadische Dollar", "AUD": "m|australische Dollar", "ct": "m|Cent", "Ct": "m|Cent",
}  # fmt: skip
SCALES = {
    "Mio.": "f|Million|Millionen", "Mio": "f|Million|Millionen", "Mrd.": "f|Milliarde|Milliarden",
    "Mrd": "f|Milliarde|Milliarden", "Tsd.": "n|tausend", "Bio.": "f|Billion|Billionen", "Millionen": "f|Millionen",
    "Million": "f|Million", "Milliarden": "f|Milliarden", "Milliarde": "f|Milliarde", "Tausend": "n|tausend",
}  # fmt: skip
UNITS = {
    "EL": "m|Esslöffel", "TL": "m|Teelöffel",
    "%": "n|Prozent", "‰": "n|Promille", "°C": "n|Grad Celsius", "℃": "n|Grad Celsius", "°F": "n|Grad Fahrenheit",
    "°": "n|Grad", "mm": "m|Millimeter", "cm": "m|Zentimeter", "dm": "m|Dezimeter", "m": "m|Meter",
    "km": "m|Kilometer", "µm": "m|Mikrometer", "nm": "m|Nanometer", "mm²": "m|Quadratmillimeter",
    "cm²": "m|Quadratzentimeter", "m²": "m|Quadratmeter", "qm": "m|Quadratmeter", "m2": "m|Quadratmeter",
    "km²": "m|Quadratkilometer", "m³": "m|Kubikmeter", "m3": "m|Kubikmeter", "cm³": "m|Kubikzentimeter",
    "ha": "m|Hektar", "mg": "n|Milligramm", "g": "n|Gramm", "kg": "n|Kilogramm", "t": "f|Tonne|Tonnen",
    "µg": "n|Mikrogramm", "Pfd.": "n|Pfund", "ml": "m|Milliliter", "cl": "m|Zentiliter", "dl": "m|Deziliter",
    "l": "m|Liter", "L": "m|Liter", "hl": "m|Hektoliter", "ms": "f|Millisekunde|Millisekunden",
    "s": "f|Sekunde|Sekunden", "sek": "f|Sekunde|Sekunden", "Sek.": "f|Sekunde|Sekunden", "sec": "f|Sekunde|Sekunden",
    "min": "f|Minute|Minuten", "Min.": "f|Minute|Minuten", "Min": "f|Minute|Minuten", "h": "f|Stunde|Stunden",
    "Std.": "f|Stunde|Stunden", "Std": "f|Stunde|Stunden", "km/h": "m|Kilometer pro Stunde|Kilometer pro Stunde",
    "m/s": "m|Meter pro Sekunde", "Stk.": "n|Stück", "l/100 km": "m|Liter auf hundert Kilometer", "Hz": "n|Hertz",
    "kHz": "n|Kilohertz", "MHz": "n|Megahertz", "GHz": "n|Gigahertz", "kB": "n|Kilobyte", "KB": "n|Kilobyte",
    "MB": "n|Megabyte", "GB": "n|Gigabyte", "TB": "n|Terabyte", "Mbit/s": "n|Megabit pro Sekunde",
    "MBit/s": "n|Megabit pro Sekunde", "W": "n|Watt", "kW": "n|Kilowatt", "MW": "n|Megawatt",
    "kWh": "f|Kilowattstunde|Kilowattstunden", "V": "n|Volt", "A": "n|Ampere", "mA": "n|Milliampere",
    "mAh": "f|Milliamperestunde|Milliamperestunden", "Ω": "n|Ohm", "Pa": "n|Pascal", "hPa": "n|Hektopascal",
    "bar": "n|Bar", "cal": "f|Kalorie|Kalorien", "kcal": "f|Kilokalorie|Kilokalorien", "kJ": "n|Kilojoule",
    "dB": "n|Dezibel", "px": "n|Pixel", "PS": "n|PS", "Mbps": "n|Megabit pro Sekunde",
    "U/min": "f|Umdrehung pro Minute|Umdrehungen pro Minute", "€/kg": "m|Euro pro Kilogramm",
    "€/m²": "m|Euro pro Quadratmeter", "€/h": "m|Euro pro Stunde", "€/Monat": "m|Euro pro Monat",
    "g/l": "n|Gramm pro Liter", "mg/l": "n|Milligramm pro Liter",
}  # fmt: skip
SHORTENED = {
    "z.B.": "zum Beispiel", "zB": "zum Beispiel", "d.h.": "das heißt", "u.a.": "unter anderem",
    "usw.": "und so weiter.", "bzw.": "beziehungsweise", "ca.": "circa", "etc.": "et cetera.", "evtl.": "eventuell",
    "ggf.": "gegebenenfalls", "inkl.": "inklusive", "exkl.": "exklusive", "max.": "maximal", "min.": "mindestens",
    "mind.": "mindestens", "vgl.": "vergleiche", "sog.": "sogenannte", "o.Ä.": "oder Ähnliches.",
    "o.ä.": "oder ähnliches.", "u.Ä.": "und Ähnliches.", "u.U.": "unter Umständen", "i.d.R.": "in der Regel",
    "z.T.": "zum Teil", "z.Z.": "zurzeit", "z.Zt.": "zurzeit", "v.a.": "vor allem", "u.v.m.": "und vieles mehr.",
    "uvm.": "und vieles mehr.", "v.Chr.": "vor Christus.", "n.Chr.": "nach Christus.", "Dr.": "Doktor",
    "Prof.": "Professor", "Hr.": "Herr", "Fr.": "Frau", "Hrn.": "Herrn", "Dipl.-Ing.": "Diplomingenieur",
    "Ing.": "Ingenieur", "St.": "Sankt", "Str.": "Straße.", "str.": "straße.", "Tel.": "Telefon", "geb.": "geboren",
    "gest.": "gestorben", "verh.": "verheiratet", "gem.": "gemäß", "lt.": "laut", "i.A.": "im Auftrag",
    "i.V.": "in Vertretung", "i.V.m.": "in Verbindung mit", "m.E.": "meines Erachtens", "s.o.": "siehe oben.",
    "s.u.": "siehe unten.",
    "zzgl.": "zuzüglich", "abzgl.": "abzüglich", "bspw.": "beispielsweise", "Jh.": "Jahrhundert.",
    "Jhd.": "Jahrhundert.", "jhrl.": "jährlich", "monatl.": "monatlich", "tgl.": "täglich", "allg.": "allgemein",
    "bes.": "besonders", "betr.": "betreffend",
    "Hbf.": "Hauptbahnhof.", "Hbf": "Hauptbahnhof",
    "Std.": "Stunden", "Min.": "Minuten", "GmbH": "G m b H", "e.V.": "e V.", "a.D.": "außer Dienst.",
    "p.a.": "pro Jahr.", "u.": "und", "und/oder": "und oder", "MwSt.": "Mehrwertsteuer.", "MwSt": "Mehrwertsteuer",
    "Pers.": "Personen.", "ff.": "folgende.", "Co.": "Kompanie", "Mr.": "Mister", "Mrs.": "Misses",
    "usw": "und so weiter",
}  # fmt: skip
BEFORE_NUMBERS = {
    "Nr.": "Nummer", "nr.": "Nummer", "Nrn.": "Nummern", "S.": "Seite", "Bd.": "Band", "Kap.": "Kapitel",
    "Abs.": "Absatz", "Art.": "Artikel", "Abb.": "Abbildung", "Tab.": "Tabelle", "§§": "Paragrafen", "§": "Paragraf",
    "Ziff.": "Ziffer", "Aufl.": "Auflage", "No.": "Nummer", "Hausnr.": "Hausnummer", "#": "Nummer",
}  # fmt: skip
