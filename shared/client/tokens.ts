import type { Token, TokenDescription } from '../api/responses/service';
import type { Calls } from './calls';
import type { BodyOf } from './endpoints';
import type { CallOptions } from './options';

/** Tokens, for those who need one beside the client's own: the client gets and renews that by itself. */
export class TokenCalls {
  constructor(private readonly calls: Calls) {}

  /** The token that the client's calls carry just now, such as for a request of one's own. */
  current(options: CallOptions = {}): Promise<string> {
    return this.calls.transport.token(options.signal);
  }

  /**
   * A new token for the client's key.
   *
   * @example
   * const { token, expires_in } = await client.tokens.issue({ ttl_minutes: 5 });
   */
  issue(body: BodyOf<'issueToken'> = {}, options: CallOptions = {}): Promise<Token> {
    return this.calls.transport.issue(body, options.signal);
  }

  /** A new token for a given one that still holds, of the same lifetime. */
  async refresh(token: string, { signal }: CallOptions = {}): Promise<Token> {
    const headers = { authorization: `Bearer ${token}` };
    return (await this.calls.transport.authenticate('refreshToken', { headers, signal })).body.data;
  }

  /**
   * What a token allows. Default: the client's own.
   *
   * @example
   * const { stores, permissions } = await client.tokens.validate();
   */
  async validate(token?: string, { signal }: CallOptions = {}): Promise<TokenDescription> {
    const headers = { authorization: `Bearer ${token ?? (await this.calls.transport.token(signal))}` };
    return (await this.calls.transport.authenticate('validateToken', { headers, signal })).body.data;
  }
}
