import { randomFrom } from '../../bench/catalog/random';
import { requestText } from '../../bench/load-generator';
import { withTypo } from '../../bench/reads';

test('a typo is one edit away from its word', () => {
  const random = randomFrom(3);
  const typos = Array.from({ length: 200 }, () => withTypo('cosacro', random));
  expect(typos).not.toContain('cosacro');
  for (const typo of typos) expect(typo).toHaveLength(7);
  expect(new Set(typos)).toContain('coascro');
});

test('a request has the length of its body in bytes', () => {
  expect(requestText({ method: 'POST', path: '/a', headers: { 'X-Key': '1' }, body: '{"á":1}' })).toBe(
    'POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Key: 1\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"á":1}',
  );
});
