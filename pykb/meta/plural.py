"""Plural names of kinds, exactly as controller-gen forms them.

controller-gen calls ``flect.Pluralize(Kind)`` (gobuffalo/flect v1.0.3, MIT licence, whose word tables these are) and
lower-cases the result. The rules are those of English, with mistakes (``octupuses`` for ``octopuses``). They are kept,
since a plural is part of the API: it is in URLs, RBAC rules and file names, and can never change.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class _Word(NamedTuple):
    singular: str
    plural: str
    alternative: str = ""
    whole_only: bool = False  # never used as a suffix
    plurals_known: bool = True  # a word that is already its plural does not change


# One entry: `singular plural [alternative]`. `!` after the singular means whole word only. `*` after the plural
# means that neither plural is recognised as one. A lone word does not change.
_DICTIONARY = """
aircraft; beef beef beefs; bison; blues blues*; chassis; deer; fish fish fishes; moose; police; salmon salmon salmons;
series; sheep; shrimp shrimp shrimps; species; swine swine swines; trout trout trouts; tuna tuna tunas; you;
child children; ox! oxen; foot feet; goose geese; man men; human humans; louse! lice; mouse mice; tooth teeth;
woman women; die! dice; person people; adieu adieux adieus; fabliau fabliaux; bureau bureaus bureaux;
criterion criteria; ganglion ganglia ganglions; lexicon lexica lexicons; mitochondrion mitochondria mitochondrions;
noumenon noumena; phenomenon phenomena; taxon taxa; media; medium media* mediums; stadium stadiums stadia;
aquarium aquaria aquariums; auditorium auditoria auditoriums; symposium symposia symposiums;
curriculum curriculums curricula; quota quotas; alumnus alumni alumnuses; bacillus bacilli; cactus cacti cactuses;
coccus cocci; focus foci focuses; locus loci locuses; nucleus nuclei nucleuses; octopus octupuses octopi;
radius radii radiuses; syllabus syllabi; corpus corpora corpuses; genus genera; alumna alumnae; vertebra vertebrae;
differentia differentiae; minutia minutiae; vita vitae; larva larvae; postcava postcavae; praecava praecavae; uva uvae;
apex apices apexes; codex codices codexes; index indices indexes; latex latices latexes; vertex vertices vertexes;
vortex vortices vortexes; appendix appendices appendixes; radix radices radixes; helix helices helixes; axis! axes;
crisis crises; ellipsis ellipses*; genesis geneses; oasis oases; thesis theses; testis testes; base bases;
basis bases*; alias! aliases; vedalia vedalias; use! uses; abuse abuses; cause causes; clause clauses; cruse cruses;
excuse excuses; fuse fuses; house houses; misuse misuses; muse muses; pause pauses; ache aches; topaz topazes;
buffalo buffaloes buffalos; potato potatoes; tomato tomatoes; equipment; information; jeans; money; news; rice;
dwarf dwarfs dwarves; hoof hoofs hooves; thief thieves; chive chives; hive hives; move moves; movie movies;
cookie cookies; pretorium pretoriums; agenda agendas; formula formulas formulae; shoe shoes; toe! toes; graffiti;
ID! IDs
"""

# Singular and plural endings, tried in this order.
_SUFFIXES = """
tive tives; eaf eaves; oaf oaves; afe aves; arf arves; rfe rves; rf rves; lf lves; fe ves;
ay ays; ey eys; oy oys; quy quies; uy uys; y ies;
eau eaux; bula bulae; dula bulae; lula bulae; nula bulae; vula bulae;
hedron hedra; ium ia; seum seums; eum ea; oum oa; stracum straca; dum da; elum ela; ilum ila; olum ola; ulum ula;
llum lla; ylum yla; imum ima; ernum erna; gnum gna; brum bra; crum cra; terum tera; serum sera; trum tra; antum anta;
atum ata; entum enta; etum eta; itum ita; otum ota; utum uta; ctum cta; ovum ova;
trix trices; iasis iases; mesis meses; kinesis kineses; resis reses; gnosis gnoses; opsis opses; ysis yses;
ouse ouses; lause lauses; us uses; ch ches; io ios; sh shes; ss sses; ez ezzes; iz izzes; tz tzes; zz zzes; ano anos;
lo los; to tos; oo oos; o oes; x xes; S Ses
"""

_ACRONYMS = frozenset(  # looked up in upper case, so entries with lower case never match
    """
    OK UTF8 HTML JSON JWT ID UUID SQL ACK ACL ADSL AES ANSI API ARP ATM BGP BSS CCITT CHAP CIDR CIR CLI CPE CPU CRC CRT
    CSMA CMOS DCE DEC DES DHCP DNS DRAM DSL DSLAM DTE DMI EHA EIA EIGRP EOF ESS FCC FCS FDDI FTP GBIC gbps GEPOF HDLC
    HTTP HTTPS IANA ICMP IDF IDS IEEE IETF IMAP IP IPS ISDN ISP kbps LACP LAN LAPB LAPF LLC MAC Mbps MC MDF MIB MoCA
    MPLS MTU NAC NAT NBMA NIC NRZ NRZI NVRAM OSI OSPF OUI PAP PAT PC PIM PCM PDU POP3 POTS PPP PPTP PTT PVST RAM RARP
    RFC RIP RLL ROM RSTP RTP RCP SDLC SFD SFP SLARP SLIP SMTP SNA SNAP SNMP SOF SRAM SSH SSID STP SYN TDM TFTP TIA TOFU
    UDP URL URI USB UTP VC VLAN VLSM VPN W3C WAN WEP WiFi WPA WWW
    """.split()  # noqa: SIM905 - a list of 200 quoted words would be no easier to read
)

_SEPARATORS = "_:-/ "


class _Tables(NamedTuple):
    plural_of: dict[str, str]
    plurals: frozenset[str]
    suffixes: tuple[tuple[str, str], ...]


@cache
def _tables() -> _Tables:
    words = [_read_word(entry.split()) for entry in _DICTIONARY.replace("\n", " ").split(";")]
    plurals: set[str] = set()
    for word in words:
        if word.plurals_known:
            plurals |= {word.plural, word.alternative} - {""}
    # Dictionary words are also endings, tried from the last to the first. Then the table of endings, in order.
    endings = [(w.singular, w.plural) for w in reversed(words) if not w.whole_only]
    endings += [(e.split()[0], e.split()[1]) for e in _SUFFIXES.replace("\n", " ").split(";")]
    return _Tables({w.singular: w.plural for w in words}, frozenset(plurals), tuple(endings))


def _read_word(parts: list[str]) -> _Word:
    singular = parts[0].removesuffix("!")
    plural = parts[1] if len(parts) > 1 else singular
    return _Word(
        singular=singular,
        plural=plural.removesuffix("*"),
        alternative=parts[2] if len(parts) > 2 else "",
        whole_only=parts[0].endswith("!"),
        plurals_known=not plural.endswith("*"),
    )


def pluralize(kind: str) -> str:
    """The default plural of a kind, lower case.

    >>> pluralize("VirtulMachine"), pluralize("NetworkPolicy"), pluralize("Redis"), pluralize("DNS")
    ('virtulmachines', 'networkpolicies', 'redis', 'dnses')
    """
    return _inflect(kind).lower()


def undoubled(kind: str) -> str:
    """The default plural without a doubled acronym. flect doubles some acronyms that are not in upper case.

    >>> undoubled("Dns"), undoubled("PublicIps"), undoubled("Vpn")
    ('dnses', 'publicipses', 'vpns')
    """
    plural, part = pluralize(kind), _last_part(kind)
    if plural.startswith(kind.lower() + part.lower()):
        return pluralize(kind[: -len(part)] + part)
    return plural


def _inflect(word: str) -> str:
    tables = _tables()
    if word in tables.plural_of:
        return tables.plural_of[word]
    if word in tables.plurals:
        return word
    part = _last_part(word)
    lower = part.lower()
    if lower in tables.plurals:
        return word
    if lower in tables.plural_of:
        plural = tables.plural_of[lower]
        return _swap_ending(word, part, plural[:1].upper() + plural[1:] if part[:1].isupper() else plural)
    for singular_ending, plural_ending in tables.suffixes:
        if part.endswith(plural_ending):
            return word
        if part.endswith(singular_ending):
            return _swap_ending(word, part, part.removesuffix(singular_ending) + plural_ending)
    return word if lower.endswith("s") else word + "s"


def _swap_ending(word: str, part: str, replacement: str) -> str:
    return word.removesuffix(part) + replacement


def _last_part(word: str) -> str:
    """The last word of a name such as ``HTTPRoute``. Only this word is inflected."""
    if word.upper() in _ACRONYMS:
        return word.upper()
    parts: list[str] = []
    current = ""
    previous = ""
    for char in word:
        starts = char in _SEPARATORS or (char.isupper() and (not previous.isupper() or current.upper() in _ACRONYMS))
        if starts and current:
            parts.append(current)
            current = ""
        previous = char
        if char not in _SEPARATORS:
            current += char
    if current:
        parts.append(current)
    last = parts[-1] if parts else word
    return last.upper() if last.upper() in _ACRONYMS else last
