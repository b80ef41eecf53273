import type { Token } from '../../../shared/api/responses/service';
import { TokenSource } from '../../../shared/client/token-source';
import { HandClock } from '../../support/hand-clock';

/** A token source whose tokens are numbered; each is handed out when the test says so. */
function world(expires_in = 900) {
  const clock = new HandClock();
  const asked: { grant: () => void; refuse: (error: Error) => void }[] = [];
  const issue = (): Promise<Token> =>
    new Promise((resolve, reject) => {
      const token = `token ${asked.length + 1}`;
      asked.push({ grant: () => resolve({ token, token_type: 'Bearer', expires_in }), refuse: reject });
    });
  const source = new TokenSource(issue, clock);
  const first = async (): Promise<string> => {
    const token = source.token();
    asked[0]!.grant();
    return token;
  };
  return { clock, asked, source, first };
}

test('a token is asked for once for all who wait, and kept', async () => {
  const { source, asked } = world();
  const waiting = [source.token(), source.token(), source.token()];
  expect(asked.length).toBe(1);
  asked[0]!.grant();
  expect(await Promise.all(waiting)).toEqual(['token 1', 'token 1', 'token 1']);
  expect(await source.token()).toBe('token 1');
  expect(asked.length).toBe(1);
});

test.each([
  [900, 869, 871],
  [60, 53, 55],
])('a token of %i s is kept at %i s and renewed at %i s', async (expires_in, kept_s, renewed_s) => {
  const { source, asked, clock, first } = world(expires_in);
  await first();
  const began_ms = clock.now_ms;
  clock.now_ms = began_ms + kept_s * 1_000;
  expect(await source.token()).toBe('token 1');
  clock.now_ms = began_ms + renewed_s * 1_000;
  const renewed = source.token();
  asked[1]!.grant();
  expect(await renewed).toBe('token 2');
});

test('a renewal that fails leaves the token that still holds, and none that has expired', async () => {
  const { source, asked, clock, first } = world();
  await first();
  clock.now_ms += 880_000;
  const early = source.token();
  asked[1]!.refuse(new Error('away'));
  expect(await early).toBe('token 1');
  clock.now_ms += 20_000;
  const late = source.token();
  asked[2]!.refuse(new Error('still away'));
  await expect(late).rejects.toThrow('still away');
});

test('who gives up waiting does not end the renewal for the others', async () => {
  const { source, asked } = world();
  const hurry = new AbortController();
  const [hurried, patient] = [source.token(hurry.signal), source.token()];
  hurry.abort(new Error('no time'));
  await expect(hurried).rejects.toThrow('no time');
  asked[0]!.grant();
  expect(await patient).toBe('token 1');
});

test('a dropped token is renewed; dropping one that was renewed before changes nothing', async () => {
  const { source, asked, first } = world();
  await first();
  source.drop('token 1');
  const second = source.token();
  asked[1]!.grant();
  await second;
  source.drop('token 1');
  expect(await source.token()).toBe('token 2');
});
