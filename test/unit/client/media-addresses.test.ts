import { makeMediaAbsolute } from '../../../shared/client/media-addresses';

const absolute = (value: unknown): unknown => {
  const copy: unknown = structuredClone(value);
  makeMediaAbsolute(copy, 'https://cdn.test/shop');
  return copy;
};

test('media and their variants get absolute addresses, wherever they are in a response', () => {
  const media = {
    object: 'media',
    url: '/media/live/a.png',
    variants: [{ name: 'thumb', url: '/media/live/b.webp' }],
  };
  const expected = {
    object: 'media',
    url: 'https://cdn.test/shop/media/live/a.png',
    variants: [{ name: 'thumb', url: 'https://cdn.test/shop/media/live/b.webp' }],
  };
  expect(absolute({ data: media })).toEqual({ data: expected });
  expect(absolute({ data: [{ object: 'publication', media: { data: [media] } }] })).toEqual({
    data: [{ object: 'publication', media: { data: [expected] } }],
  });
});

test.each([
  ['an absolute address', { object: 'media', url: 'https://pictures.test/a.png', variants: [] }],
  ['an address of another host', { object: 'media', url: '//pictures.test/a.png', variants: [] }],
  ['a placeholder', { object: 'media', placeholder: 'data:image/webp;base64,AA==', variants: [] }],
  ['the path of a collection', { object: 'collection', url: '/api/listings', data: [] }],
  ['no body', undefined],
])('%s stays', (_what, value) => {
  expect(absolute({ data: value })).toEqual({ data: value });
});
