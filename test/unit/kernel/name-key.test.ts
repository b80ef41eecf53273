import { compareTexts } from '../../../shared/catalog/sorting';
import { nameKey } from '../../../shared/kernel/name-key';

test.each([
  ['es', 'ángel arco azul nube nz ñandú oca'],
  ['sv', 'Apa ordna über yla yxa Zon Åsna Ärt Öl'],
  ['da', 'Abe Azur Zebra Æble Øl Ål Aalborg'],
  ['cs', 'Citron Cz Čaj Houska Chléb Ibis'],
  ['et', 'saag šokk zebra žanr tee vaas õun äss öö üks xx'],
  ['lt', 'įkas ytra iva jonas suo šuo tuo'],
  ['tr', 'cam çay dal hava Iğdır ısı ızgara ilk İzmir jant'],
  ['az', 'Alma Ev Əncir Fil Zanbaq'],
  ['cy', 'Gafr Nghaer Ngwydd Haf Llan Mam Nos'],
  ['vi', 'an ăn ấm di dz đi'],
  ['ru', 'еж ёлка ель икра йод край Яма'],
  ['el', 'άλφα Αμφορέας βήτα'],
  ['hi', 'क का कि के खा'],
  ['ja', 'かき がく かし'],
  ['zz', 'Ärmel arzt Øre'],
])('names in %s are sorted as %s', (language, names) => {
  const keys = names.split(' ').map((name) => [nameKey(name, language), name] as const);
  const sorted = keys.reverse().sort(([a], [b]) => compareTexts(a, b));
  const compare = new Intl.Collator([language, 'en'], { sensitivity: 'base' }).compare;
  expect(sorted.map(([, name]) => name).join(' ')).toBe(names);
  expect(names.split(' ').every((name, n, all) => n === 0 || compare(all[n - 1]!, name) <= 0)).toBe(true);
});

test('a key has the plain letters of a name, and is the same with every release of Node.js', () => {
  const keys = [
    ['es', ' Ñandú  Té '],
    ['de', 'Größe ﬁne'],
    ['da', 'Smørrebrød Århus'],
    ['hu', 'Csak'],
  ].map(([language, name]) => nameKey(name!, language!));
  const highest = '\u{10ffff}';
  expect(keys).toEqual([
    `n${highest}00andu  te`,
    'grosse fine',
    `smz${highest}0jrrebrz${highest}0jd z${highest}0krhus`,
    `c${highest}00ak`,
  ]);
});
