import fc from 'fast-check';
import { JsonText, type Presentable, writeJson } from '../../../shared/catalog/json-text';

/** Objects as they are, or as their text. */
const item = fc.dictionary(fc.string(), fc.jsonValue()).chain((plain) => {
  const forms: Presentable[] = [plain as Presentable, new JsonText(JSON.stringify(plain))];
  return fc.constantFrom(...forms);
});
const data = fc.oneof(
  item,
  fc.array(item),
  fc.dictionary(fc.string(), fc.oneof(fc.array(item), item, fc.jsonValue() as fc.Arbitrary<Presentable>)),
);

test('what holds texts is written as what they say would be', () => {
  fc.assert(
    fc.property(data, (value) => {
      // Texts say by `toJSON` what they are.
      expect(writeJson(value)).toBe(JSON.stringify(value));
    }),
  );
});

test('a text is put in as it is', () => {
  const text = '{"b":1,  "a":"ü"}';
  expect(writeJson({ featured: [new JsonText(text)], others: [] })).toBe(
    `{"featured":[${text}],"others":[]}`,
  );
});
