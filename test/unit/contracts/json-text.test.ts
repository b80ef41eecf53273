import fc from 'fast-check';
import { JsonText, type Presentable, writeJson } from '../../../shared/catalog/json-text';

/** An object, either as a plain value or as its JSON text. */
const item = fc.dictionary(fc.string(), fc.jsonValue()).chain((plain) => {
  const forms: Presentable[] = [plain as Presentable, new JsonText(JSON.stringify(plain))];
  return fc.constantFrom(...forms);
});
const data = fc.oneof(
  item,
  fc.array(item),
  fc.dictionary(fc.string(), fc.oneof(fc.array(item), item, fc.jsonValue() as fc.Arbitrary<Presentable>)),
);

test('writeJson writes a value that contains JsonText like JSON.stringify', () => {
  fc.assert(
    fc.property(data, (value) => {
      // `JSON.stringify` parses the texts through their `toJSON` method.
      expect(writeJson(value)).toBe(JSON.stringify(value));
    }),
  );
});

test('writeJson copies a JsonText unchanged', () => {
  const text = '{"b":1,  "a":"ü"}';
  expect(writeJson({ featured: [new JsonText(text)], others: [] })).toBe(
    `{"featured":[${text}],"others":[]}`,
  );
});
