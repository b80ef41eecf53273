import type { Token } from '../../../shared/api/responses/service';
import { TokenSource } from '../../../shared/client/token-source';
import { bounded } from '../../support/bounded';
import { HandClock } from '../../support/hand-clock';

/** Makes a token source whose tokens are numbered. The test grants or refuses each request for a token. */
function setUp(expires_in = 900) {
  const clock = new HandClock();
  const requests: { grant: () => void; refuse: (error: Error) => void }[] = [];
  const issue = (): Promise<Token> =>
    new Promise((resolve, reject) => {
      const token = `token ${requests.length + 1}`;
      requests.push({ grant: () => resolve({ token, token_type: 'Bearer', expires_in }), refuse: reject });
    });
  const source = bounded(new TokenSource(issue, clock), 'token source');
  const getFirst = async (): Promise<string> => {
    const token = source.token();
    requests[0]!.grant();
    return token;
  };
  return { clock, requests, source, getFirst };
}

test('concurrent calls share one request for a token, which is then cached', async () => {
  const { source, requests } = setUp();
  const waiting = [source.token(), source.token(), source.token()];
  expect(requests.length).toBe(1);
  requests[0]!.grant();
  expect(await Promise.all(waiting)).toEqual(['token 1', 'token 1', 'token 1']);
  expect(await source.token()).toBe('token 1');
  expect(requests.length).toBe(1);
});

test.each([
  [900, 869, 871],
  [60, 53, 55],
])(
  'a token that expires in %i s is still cached after %i s and renewed after %i s',
  async (expires_in, cached_s, renewed_s) => {
    const { source, requests, clock, getFirst } = setUp(expires_in);
    await getFirst();
    const began_ms = clock.now_ms;
    clock.now_ms = began_ms + cached_s * 1_000;
    expect(await source.token()).toBe('token 1');
    clock.now_ms = began_ms + renewed_s * 1_000;
    const renewed = source.token();
    requests[1]!.grant();
    expect(await renewed).toBe('token 2');
  },
);

test('a failed renewal returns the current token until it expires, then rejects', async () => {
  const { source, requests, clock, getFirst } = setUp();
  await getFirst();
  clock.now_ms += 880_000;
  const early = source.token();
  requests[1]!.refuse(new Error('unavailable'));
  expect(await early).toBe('token 1');
  clock.now_ms += 20_000;
  const late = source.token();
  requests[2]!.refuse(new Error('still unavailable'));
  await expect(late).rejects.toThrow('still unavailable');
});

test('a call that is aborted does not cancel the renewal for other calls', async () => {
  const { source, requests } = setUp();
  const controller = new AbortController();
  const [aborted, waiting] = [source.token(controller.signal), source.token()];
  controller.abort(new Error('aborted by the caller'));
  await expect(aborted).rejects.toThrow('aborted by the caller');
  requests[0]!.grant();
  expect(await waiting).toBe('token 1');
});

test('a discarded token is replaced; discarding a token that was already replaced changes nothing', async () => {
  const { source, requests, getFirst } = setUp();
  await getFirst();
  source.discard('token 1');
  const second = source.token();
  requests[1]!.grant();
  await second;
  source.discard('token 1');
  expect(await source.token()).toBe('token 2');
});
