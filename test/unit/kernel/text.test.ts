import { foldText } from '../../../shared/kernel/text';

test.each([
  ['Ñandú', 'nandu'],
  ['Łódź', 'lodz'],
  ['Øre', 'ore'],
  ['Æther', 'aether'],
  ['œuvre', 'oeuvre'],
  ['Straße', 'strasse'],
  ['İstanbul', 'istanbul'],
  ['ﬁne', 'fine'],
  ['  Tea ', 'tea'],
])('%s is found and sorted as %s', (text, folded) => {
  expect(foldText(text)).toBe(folded);
});
