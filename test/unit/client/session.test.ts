import type { Token } from '../../../shared/api/responses/service';
import { Session } from '../../../shared/client/session';
import { HandClock } from '../../support/hand-clock';

/** A session whose tokens are numbered; each is handed out when the test says so. */
function world(expires_in = 900) {
  const clock = new HandClock();
  const asked: { grant: () => void; refuse: (error: Error) => void }[] = [];
  const issue = (): Promise<Token> =>
    new Promise((resolve, reject) => {
      const token = `token ${asked.length + 1}`;
      asked.push({ grant: () => resolve({ token, token_type: 'Bearer', expires_in }), refuse: reject });
    });
  const session = new Session(issue, clock);
  const first = async (): Promise<string> => {
    const token = session.token();
    asked[0]!.grant();
    return token;
  };
  return { clock, asked, session, first };
}

test('a token is asked for once for all who wait, and kept', async () => {
  const { session, asked } = world();
  const waiting = [session.token(), session.token(), session.token()];
  expect(asked.length).toBe(1);
  asked[0]!.grant();
  expect(await Promise.all(waiting)).toEqual(['token 1', 'token 1', 'token 1']);
  expect(await session.token()).toBe('token 1');
  expect(asked.length).toBe(1);
});

test.each([
  [900, 869, 871],
  [60, 53, 55],
])('a token of %i s is kept at %i s and renewed at %i s', async (expires_in, kept_s, renewed_s) => {
  const { session, asked, clock, first } = world(expires_in);
  await first();
  const began_ms = clock.now_ms;
  clock.now_ms = began_ms + kept_s * 1_000;
  expect(await session.token()).toBe('token 1');
  clock.now_ms = began_ms + renewed_s * 1_000;
  const renewed = session.token();
  asked[1]!.grant();
  expect(await renewed).toBe('token 2');
});

test('a renewal that fails leaves the token that still holds, and none that has expired', async () => {
  const { session, asked, clock, first } = world();
  await first();
  clock.now_ms += 880_000;
  const early = session.token();
  asked[1]!.refuse(new Error('away'));
  expect(await early).toBe('token 1');
  clock.now_ms += 20_000;
  const late = session.token();
  asked[2]!.refuse(new Error('still away'));
  await expect(late).rejects.toThrow('still away');
});

test('who gives up waiting does not end the renewal for the others', async () => {
  const { session, asked } = world();
  const hurry = new AbortController();
  const [hurried, patient] = [session.token(hurry.signal), session.token()];
  hurry.abort(new Error('no time'));
  await expect(hurried).rejects.toThrow('no time');
  asked[0]!.grant();
  expect(await patient).toBe('token 1');
});

test('a dropped token is renewed; dropping one that was renewed before changes nothing', async () => {
  const { session, asked, first } = world();
  await first();
  session.drop('token 1');
  const second = session.token();
  asked[1]!.grant();
  await second;
  session.drop('token 1');
  expect(await session.token()).toBe('token 2');
});
