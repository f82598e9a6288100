"""The vocabularies of the address generator, by country.

Short lists suffice: most names of streets and towns are composed of two or three parts (Oak + field,
Birken + weg), so that held-out addresses have many words that do not occur in training.
"""

from __future__ import annotations

FIRST_NAMES = {
    "en": """
        James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan
        Joseph Jessica Thomas Sarah Charles Karen Daniel Nancy Matthew Lisa Anthony Betty Mark Helen Paul
        Sandra Steven Ashley Andrew Kim Kenneth Emily George Donna Joshua Carol Kevin Amanda Brian Dorothy
        Olivia Grace Florence Victoria Georgia Austin Dakota Jackson Harrison Lincoln Madison Chester
        Lancaster Carlisle""",
    "de": """
        Anna Peter Sabine Thomas Ursula Michael Monika Andreas Petra Wolfgang Elke Klaus Jürgen Günther
        Heike Stefan Claudia Christian Birgit Uwe Kerstin Markus Susanne Frank Renate Karl Helga Dieter Jörg
        Lukas Sophie Maximilian Leonie Felix Hannah Jonas Marie Paul Lena Ömer Ayşe Björn Käthe""",
    "fr": """
        Jean Marie Pierre Nathalie Michel Isabelle Philippe Sylvie Alain Catherine Nicolas Martine
        Christophe Christine Bernard Françoise Stéphane Valérie Frédéric Sandrine Laurent Stéphanie Olivier
        Véronique Hélène Thérèse Étienne Amélie Théo Chloé Hugo Manon Lucas Camille Benoît Zoé Gaël Noémie""",
    "pt": """
        Maria José Ana João Antônio Francisca Francisco Adriana Carlos Juliana Paulo Márcia Pedro Fernanda
        Lucas Patrícia Luiz Aline Marcos Sandra Luís Camila Gabriel Amanda Rafael Bruna Daniel Jéssica
        Marcelo Letícia Bruno Júlia Eduardo Luciana Felipe Vanessa Raimundo Mariana Rodrigo Cecília""",
    "it": """
        Giuseppe Maria Antonio Anna Giovanni Rosa Mario Angela Luigi Giovanna Francesco Teresa Angelo Lucia
        Vincenzo Carmela Pietro Caterina Salvatore Francesca Carlo Antonietta Franco Carla Domenico Elena
        Bruno Concetta Paolo Rita Michele Margherita Giorgio Franca Aldo Paola Niccolò Chiara""",
    "nl": """
        Jan Maria Johannes Anna Cornelis Johanna Hendrik Elisabeth Willem Cornelia Pieter Wilhelmina Gerrit
        Hendrika Jacob Catharina Daan Emma Sem Julia Milan Sophie Levi Lotte Bram Eva Thijs Saskia Joost
        Femke Sjoerd Marijke Ruud Anouk""",
}

LAST_NAMES = {
    "en": """
        Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Thomas Moore Martin Lee
        Thompson White Harris Clark Lewis Robinson Walker Young Allen King Wright Scott Hill Green Adams
        Baker Hall Rivera Campbell Mitchell Carter Roberts Phillips Evans Turner Parker Collins Edwards
        Stewart Morris Murphy Cook Rogers Morgan Cooper Reed Bailey Bell Gomez Kelly Howard Ward Cox
        Richardson Wood Watson Brooks Bennett Gray Hughes Price Long Foster Sanders Ross Myers Ford Hamilton
        Graham Sullivan Woods Cole West Jordan Owens Reynolds Fisher Ellis Harrison Gibson Marshall Wells
        Burton Lincoln Bradford Preston Houston Kent York Washington Franklin Jefferson Madison Monroe
        O'Brien O'Connor McDonald""",
    "de": """
        Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer
        Richter Klein Wolf Schröder Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Werner
        Krause Lehmann Köhler Maier Herrmann König Walter Huber Kaiser Fuchs Peters Lang Scholz Möller Weiß
        Jung Hahn Vogel Keller Günther Frank Berger Winkler Roth Beck Lorenz Baumann Albrecht Schuster Simon
        Böhm Winter Kraus Schumacher Krämer Vogt Stein Jäger Otto Sommer Groß Seidel Brandt Haas Schreiber
        Graf Dietrich Ziegler Kuhn Pohl Engel Horn Busch Bergmann Voigt Sauer Arnold Wolff Pfeiffer
        Nürnberger Frankfurter Öztürk""",
    "fr": """
        Martin Bernard Thomas Petit Robert Richard Durand Dubois Moreau Laurent Simon Michel Lefebvre Leroy
        Roux David Bertrand Morel Fournier Girard Bonnet Dupont Lambert Fontaine Rousseau Vincent Muller
        Lefèvre Faure André Mercier Blanc Guérin Boyer Garnier Chevalier François Legrand Gauthier Garcia
        Perrin Robin Clément Morin Nicolas Henry Roussel Mathieu Gautier Masson Marchand Duval Denis Dumont
        Marie Lemaire Noël Meyer Dufour Meunier Brun Blanchard Giraud Joly Rivière Lucas Brunet Gaillard
        Barbier Arnaud Martinez Gérard Roche Renard Schmitt Roy Leroux Colin Vidal Caron Picard""",
    "pt": """
        Silva Santos Oliveira Souza Rodrigues Ferreira Alves Pereira Lima Gomes Costa Ribeiro Martins
        Carvalho Almeida Lopes Soares Fernandes Vieira Barbosa Rocha Dias Nascimento Andrade Moreira Nunes
        Marques Machado Mendes Freitas Cardoso Ramos Gonçalves Santana Teixeira Araújo Cavalcanti Monteiro
        Moura Correia Campos Pinto Batista Barros Azevedo Peixoto Queiroz Magalhães Guimarães Brandão
        Fonseca Bahia Belém""",
    "it": """
        Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti De-Luca
        Costa Giordano Mancini Rizzo Lombardi Moretti Barbieri Fontana Santoro Mariani Rinaldi Caruso
        Ferrara Galli Martini Leone Longo Gentile Martinelli Vitale Lombardo Serra Coppola D'Angelo
        Marchetti Parisi Villa Conte Ferraro Ferri Fabbri Bianco Marini Grasso Valentini Messina Sala
        Palermo Milani Genovese""",
    "nl": """
        Jong Jansen Vries Berg Bakker Dijk Visser Janssen Smit Meijer Boer Mulder Groot Bos Vos Peters
        Hendriks Leeuwen Dekker Brouwer Wit Dijkstra Smits Graaf Meer Linden Kok Jacobs Haan Vermeulen
        Heuvel Veen Broek Bruijn Schouten Beek Willems Vliet Hoekstra Maas Verhoeven Koster Prins Blom
        Huisman Peeters Kuiper Veenstra Kramer Brink Utrecht Haarlem""",
}

# (stems, endings): a town is a stem with an ending.
TOWN_PARTS = {
    "en": (
        """
        Oak Maple Spring River Green Lake Fair West East North South Stone Wood Clear Cedar Pine Ash Elm
        Brook Mill Rock Sand Silver Gold Red White Black Bridge Church Kings Queens Hill Fox Deer Eagle
        Hunt Marsh Clay Glen Harbor Haven Mont Sunny Winter Summer Cran Beck Harro Wal Dun Hert Staf Brad
        Chelms Ips""",
        """
        ville ton field burg wood dale port ford view land mont brook ham bury shire worth wick minster
        mouth stead""",
    ),
    "de": (
        """
        Neu Alt Ober Unter Nieder Gross Klein Hoch Schön Grün Wald Berg Stein Bach Buch Eich Birken Linden
        Rosen Fried Königs Kaiser Fürsten Markt Mühl Salz Eisen Frei Wolfs Bären Adler Falken Rheins Main
        Elb Donau Lauter Ingel Hildes Mann Heidel Pforz Bieles""",
        "hausen dorf burg heim berg feld stadt bach furt hof kirchen thal wald au rode leben ingen stein",
    ),
    "fr": (
        """
        Mont Beau Belle Château Haut Bois Roche Font Ville Neuf Clair Grand Mar Val Vau Champ Pont Cour
        Bel Saint Ber Char Vill Ab Ar Aul Ban Cham Dom Ger Laon Lun Mor Nant Or Per Ram Sal Ver""",
        "ville court mont villiers bourg gny rieux nay ance ac ièvre eaux vigny mesnil igny ois euil ières",
    ),
    "pt": (
        """
        Campo Santa Porto Monte Rio Ribeirão Lagoa Serra Barra Pedra Nova Vila Ita Pira Guara Jaca Para
        Cara Ubera Sorocá Arara Tau Mogi Botu Indaia Cata Jundi Piraci""",
        "belo caba tinga guaçu bata quara puã ranga naíba pema raí caia mirim tuba nópolis lândia",
    ),
    "it": (
        """
        Monte Castel Borgo Villa Rocca Acqua Bel Campo Civita Fonte Gross Piove Terra Torre Val Vico Ripa
        Pieve Serra Colle Franca Alta Bassa""",
        "fiore rosso bello vecchio nuovo franco verde longo marina forte ardo ino anova asco ate engo",
    ),
    "nl": (
        """
        Amster Rotter Zwijn Dor Oud Nieuw Hoog Laag Wijk Zand Berg Eind Til Apel Zoeter Leeu Hilver Alk
        Hoof Purmer Heeren Ooster Wester Noord Zuid Enk Harder Winter Veen Duiven""",
        "dam drecht kerk veen hoven burg meer sum maar woude dorp huizen zaal wijk recht steen horst loo",
    ),
}

CITIES = {
    "US": """
        New_York Los_Angeles Chicago Houston Phoenix Philadelphia San_Antonio San_Diego Dallas San_José
        Austin Jacksonville Fort_Worth Columbus Charlotte Indianapolis Seattle Denver Washington Boston
        El_Paso Nashville Las_Vegas Portland Detroit Memphis Louisville Baltimore Milwaukee Albuquerque
        Tucson Fresno Sacramento Kansas_City Mesa Atlanta Omaha Raleigh Miami Long_Beach Oakland Minneapolis
        Tulsa Tampa Arlington New_Orleans Salt_Lake_City St._Paul Baton_Rouge Little_Rock Santa_Fe
        Des_Moines""",
    "GB": """
        London Birmingham Leeds Glasgow Sheffield Bradford Liverpool Edinburgh Manchester Bristol Cardiff
        Leicester Wakefield Coventry Nottingham Newcastle_upon_Tyne Sunderland Brighton Hull Plymouth
        Stoke-on-Trent Wolverhampton Derby Swansea Southampton Aberdeen Portsmouth York Milton_Keynes
        Bury_St_Edmunds Kingston_upon_Thames Royal_Tunbridge_Wells Weston-super-Mare Bath Wells Ely""",
    "DE": """
        Berlin Hamburg München Köln Frankfurt_am_Main Stuttgart Düsseldorf Leipzig Dortmund Essen Bremen
        Dresden Hannover Nürnberg Duisburg Bochum Wuppertal Bielefeld Bonn Münster Karlsruhe Mannheim
        Augsburg Wiesbaden Mönchengladbach Gelsenkirchen Braunschweig Kiel Chemnitz Aachen Halle_(Saale)
        Magdeburg Freiburg_im_Breisgau Lübeck Erfurt Mainz Rostock Kassel Bad_Homburg
        Rothenburg_ob_der_Tauber""",
    "FR": """
        Paris Marseille Lyon Toulouse Nice Nantes Montpellier Strasbourg Bordeaux Lille Rennes Reims Toulon
        Saint-Étienne Le_Havre Grenoble Dijon Angers Villeurbanne Saint-Denis Nîmes Clermont-Ferrand Le_Mans
        Aix-en-Provence Brest Tours Amiens Limoges Annecy Boulogne-Billancourt Metz Besançon Perpignan
        Orléans Rouen La_Rochelle Neuilly-sur-Seine Chalon-sur-Saône""",
    "BR": """
        São_Paulo Rio_de_Janeiro Brasília Salvador Fortaleza Belo_Horizonte Manaus Curitiba Recife Goiânia
        Belém Porto_Alegre Guarulhos Campinas São_Luís Maceió Campo_Grande São_Gonçalo Teresina João_Pessoa
        Natal Osasco Ribeirão_Preto Uberlândia Sorocaba Contagem Aracaju Feira_de_Santana Cuiabá Joinville
        Juiz_de_Fora Londrina Florianópolis Santos Vitória""",
    "IT": """
        Roma Milano Napoli Torino Palermo Genova Bologna Firenze Bari Catania Verona Venezia Messina Padova
        Trieste Brescia Parma Prato Modena Reggio_Calabria Reggio_Emilia Perugia Ravenna Livorno Rimini
        Cagliari Foggia Ferrara Salerno Monza Sesto_San_Giovanni L'Aquila La_Spezia""",
    "NL": """
        Amsterdam Rotterdam Den_Haag Utrecht Eindhoven Groningen Tilburg Almere Breda Nijmegen Apeldoorn
        Haarlem Arnhem Enschede Amersfoort Zaanstad 's-Hertogenbosch Zwolle Leiden Maastricht Dordrecht Ede
        Alphen_aan_den_Rijn Alkmaar Delft Bergen_op_Zoom Capelle_aan_den_IJssel""",
}

REGIONS = {
    "US": """
        AL:Alabama AK:Alaska AZ:Arizona AR:Arkansas CA:California CO:Colorado CT:Connecticut DE:Delaware
        FL:Florida GA:Georgia HI:Hawaii ID:Idaho IL:Illinois IN:Indiana IA:Iowa KS:Kansas KY:Kentucky
        LA:Louisiana ME:Maine MD:Maryland MA:Massachusetts MI:Michigan MN:Minnesota MO:Missouri MT:Montana
        NE:Nebraska NV:Nevada NH:New_Hampshire NJ:New_Jersey NM:New_Mexico NY:New_York NC:North_Carolina
        OH:Ohio OK:Oklahoma OR:Oregon PA:Pennsylvania RI:Rhode_Island SC:South_Carolina TN:Tennessee
        TX:Texas UT:Utah VT:Vermont VA:Virginia WA:Washington WV:West_Virginia WI:Wisconsin""",
    "GB": """
        Kent:Kent Essex:Essex Surrey:Surrey Hants:Hampshire Herts:Hertfordshire Lancs:Lancashire
        Beds:Bedfordshire Bucks:Buckinghamshire Cambs:Cambridgeshire Oxon:Oxfordshire
        W._Yorks:West_Yorkshire W._Mids:West_Midlands Devon:Devon Norfolk:Norfolk Notts:Nottinghamshire""",
    "BR": """
        SP:São_Paulo RJ:Rio_de_Janeiro MG:Minas_Gerais BA:Bahia RS:Rio_Grande_do_Sul PR:Paraná PE:Pernambuco
        CE:Ceará PA:Pará SC:Santa_Catarina GO:Goiás MA:Maranhão AM:Amazonas ES:Espírito_Santo PB:Paraíba
        DF:Brasília""",
    "IT": """
        RM:Roma MI:Milano NA:Napoli TO:Torino PA:Palermo GE:Genova BO:Bologna FI:Firenze BA:Bari CT:Catania
        VR:Verona VE:Venezia PD:Padova BS:Brescia PR:Parma MO:Modena CO:Como LE:Lecce""",
}

COUNTRIES = {
    "US": "USA U.S.A. United_States United_States_of_America US",
    "GB": "UK United_Kingdom England Great_Britain GB",
    "DE": "Germany Deutschland DE Allemagne",
    "FR": "France FRANCE FR",
    "BR": "Brasil Brazil BR",
    "IT": "Italia Italy IT",
    "NL": "Nederland Netherlands The_Netherlands NL",
}

COMPANY_STEMS = """
    Acme Apex Atlas Nova Orion Delta Sigma Omega Global United National Pioneer Summit Horizon Liberty
    Sterling Phoenix Pacific Atlantic Central Premier Quantum Vertex Zenith Alpha Beacon Crown Eagle
    Falcon Granite"""
COMPANY_KINDS = {
    "en": """
        Ltd Inc. LLC Corp. &_Sons Books Motors Foods Partners Solutions Logistics Dental_Care Bakery
        Hardware_Store Law_Offices""",
    "de": "GmbH AG KG e.K. GmbH_&_Co._KG Apotheke Bäckerei Autohaus Versicherungen Steuerberatung",
    "fr": "SARL SA SAS Boulangerie Pharmacie Transports et_Fils Cabinet Assurances",
    "pt": "Ltda S.A. ME Comércio Padaria Farmácia Transportes Materiais_de_Construção",
    "it": "S.r.l. S.p.A. Farmacia Trattoria Costruzioni &_Figli Studio_Legale",
    "nl": "B.V. N.V. Bakkerij Transport Apotheek Makelaardij &_Zonen",
}


def words(text: str) -> list[str]:
    "Split a list above into its entries; an underscore stands for a blank inside an entry."
    return [entry.replace("_", " ") for entry in text.split()]
