import { type MotifName, motifs } from './motifs';
import { numberOf, type Paint, paintOf } from './palette';

/** What each product of the demo looks like; one that is not named here is a box with a bow. */
const SHAPES: Readonly<Record<string, MotifName>> = {
  'taza-amancay': 'mug',
  'tazon-neblina': 'bowl',
  'plato-totora': 'plate',
  'jarra-rimac': 'jug',
  'macetero-cactus': 'pot',
  'torito-pucara': 'bull',
  'azucarero-luna': 'jar',
  'set-pisco': 'cone',
  'segunda-seleccion': 'bowl',
  'cafe-chanchamayo': 'pouch',
  'cafe-villa-rica': 'pouch',
  'cafe-jaen': 'pouch',
  'cafe-quillabamba': 'pouch',
  'cafe-descafeinado': 'pouch',
  'prensa-francesa': 'press',
  'gotero-ceramica': 'cone',
  'filtros-papel': 'stack',
  'vela-palo-santo': 'candle',
  'vela-hierbaluisa': 'candle',
  'vela-cafe': 'candle',
  'vela-misa': 'tapers',
  sahumerio: 'smoke',
  'jabon-muna': 'soap',
  'difusor-molle': 'bottle',
  'portavela-adobe': 'pot',
  'lamina-malecon': 'sea',
  'lamina-mercado': 'figures',
  'lamina-aves': 'birds',
  'postales-lima': 'cards',
  'libro-balcones': 'book',
  'libro-ceviche': 'book',
  'mapa-huacas': 'map',
  'calendario-perpetuo': 'calendar',
  'prueba-imprenta': 'birds',
  'bolsa-tela': 'bag',
  envoltura: 'carton',
  'chocolate-70': 'bar',
  'chocolate-maras': 'bar',
  'chocolate-taza': 'bar',
  'miel-oxapampa': 'jar',
  'sal-maras': 'pouch',
  'mermelada-aguaymanto': 'jar',
  'aji-panca': 'jar',
  'te-muna': 'mug',
  'caja-despensa': 'carton',
  'cuaderno-barranco': 'book',
  'cuaderno-cuadriculado': 'book',
  'agenda-perpetua': 'calendar',
  'sobres-kraft': 'envelope',
  'sello-llama': 'stamp',
  'tinta-añil': 'bottle',
  'lapices-grafito': 'pencils',
  'papel-regalo': 'scroll',
  'tarjetas-empresa': 'cards',
  'manta-ayacucho': 'cloth',
  'chalina-alpaca': 'scarf',
  'chullo-puno': 'hat',
  'camino-mesa': 'scroll',
  'pano-cocina': 'cloth',
  'cojin-retazos': 'cushion',
  'bolso-lliclla': 'bag',
  'pantuflas-fieltro': 'slippers',
  'tapiz-encargo': 'loom',
  'taller-torno': 'wheel',
  'taller-encuadernacion': 'book',
  'taller-catacion': 'mug',
  'taller-velas': 'candle',
  'taller-telar': 'loom',
  'taller-ninos': 'bull',
  'tarjeta-regalo': 'card',
  'taller-empresas': 'wheel',
  'nacimiento-barro': 'figures',
  'adorno-estrella': 'star',
  'canasta-navidad': 'basket',
  'paneton-cacao': 'loaf',
};

/** What is woven, glazed or printed on a surface: cells that repeat. */
const PATTERNS: readonly ((paint: Paint) => string)[] = [
  ({ light }) => `<path d="M0 45 l45 -30 l45 30" fill="none" stroke="${light}" stroke-width="9"/>`,
  ({ light }) => `<circle cx="45" cy="45" r="13" fill="${light}"/>`,
  ({ dark }) => `<rect y="20" width="90" height="16" fill="${dark}"/>`,
  ({ accent }) => `<path d="M45 12 l14 14 h18 v18 l-32 32 l-32 -32 v-18 h18 z" fill="${accent}"/>`,
  ({ light, dark }) =>
    `<rect width="45" height="45" fill="${light}"/><rect x="45" y="45" width="45" height="45" fill="${dark}"/>`,
  () => '',
];

export interface Drawn {
  readonly id: string;
  /** Its listing's name. */
  readonly listing: string | null;
}

/**
 * A still life as SVG, 1200 × 1200: the same product always looks the same, and like no other. `near` shows it as from
 * a step closer.
 */
export function drawingOf(product: Drawn, near = false): string {
  const floor = near ? 1010 : 890;
  return scene(product, { width: 1200, floor }, [standing(product, near ? 1.5 : 1.08, 600, floor)]);
}

/** What a listing has, side by side: 1600 × 900, of up to three of its products. */
export function groupOf(products: readonly Drawn[]): string {
  const three = products.slice(0, 3);
  const step = 1600 / (three.length + 1);
  const things = three.map((product, index) => standing(product, 0.66, step * (index + 1), 690));
  return scene({ ...three[0]!, id: three[0]!.listing ?? '' }, { width: 1600, floor: 690 }, things);
}

/** The thing on its shadow, in its own pattern. */
function standing(product: Drawn, zoom: number, x: number, floor: number): string {
  const { id, listing } = product;
  const paint = paintOf(listing, id);
  const pattern = PATTERNS[numberOf(id, 'pattern', PATTERNS.length)]!(paint);
  const cell = 54 + numberOf(id, 'cell', 5) * 9;
  // Each pattern has a name of its own: several things may stand in one scene.
  const name = `p${numberOf(id, 'name', 1_000_000)}`;
  const thing = motifs[SHAPES[id] ?? 'carton'](paint).replaceAll('url(#pattern)', `url(#${name})`);
  return `<pattern id="${name}" width="${cell}" height="${cell}" patternUnits="userSpaceOnUse"><g transform="scale(${cell / 90})" opacity="0.75">${pattern}</g></pattern>
<ellipse cx="${x}" cy="${floor + 12 * zoom}" rx="${370 * zoom}" ry="${42 * zoom}" fill="#000" opacity="0.34" filter="url(#soft)"/>
<g transform="translate(${x - 500 * zoom} ${floor - 780 * zoom}) scale(${zoom})">${thing}</g>`;
}

function scene(
  { id, listing }: Drawn,
  { width, floor }: { width: 1200 | 1600; floor: number },
  things: readonly string[],
): string {
  const height = width === 1200 ? 1200 : 900;
  const { ground, glow, dark } = paintOf(listing, id);
  const sun = 0.2 + numberOf(id, 'sun', 60) / 100;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<defs>
<radialGradient id="wall" cx="${sun}" cy="0.25" r="0.95"><stop offset="0" stop-color="${glow}"/><stop offset="1" stop-color="${ground}"/></radialGradient>
<filter id="soft" x="-20%" y="-150%" width="140%" height="400%"><feGaussianBlur stdDeviation="26"/></filter>
</defs>
<rect width="${width}" height="${height}" fill="url(#wall)"/>
<rect y="${floor - 50}" width="${width}" height="${height}" fill="${dark}" opacity="0.13"/>
${things.join('\n')}
</svg>`;
}
