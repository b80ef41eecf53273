import type { Token, TokenDescription } from './api.js';
import type { Calls } from './calls.js';
import type { BodyOf } from './operations.js';
import type { CallOptions } from './options.js';

/** Tokens for your own requests. The client obtains and renews its own token without these methods. */
export class TokenCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Returns the token that the client sends with its calls, for use in a request of your own.
   *
   * @example
   * await fetch(url, { headers: { authorization: `Bearer ${await client.tokens.current()}` } });
   */
  current(options: CallOptions = {}): Promise<string> {
    return this.calls.transport.token(options.signal);
  }

  /**
   * Issues a new token for the client's key.
   *
   * @example
   * const { token, expires_in } = await client.tokens.issue({ ttl_minutes: 5 });
   */
  issue(body: BodyOf<'issueToken'> = {}, options: CallOptions = {}): Promise<Token> {
    return this.calls.transport.issue(body, options);
  }

  /**
   * Exchanges a token that has not expired for a new one with the same lifetime.
   *
   * @example
   * const { token } = await client.tokens.refresh(previous_token);
   */
  async refresh(token: string, options: CallOptions = {}): Promise<Token> {
    const headers = { authorization: `Bearer ${token}` };
    return (await this.calls.transport.authenticate('refreshToken', { headers, options })).body.data;
  }

  /**
   * Returns the stores, permissions and expiry of a token. Default: the client's own token.
   *
   * @example
   * const { stores, permissions } = await client.tokens.validate();
   */
  async validate(token?: string, options: CallOptions = {}): Promise<TokenDescription> {
    const headers = {
      authorization: `Bearer ${token ?? (await this.calls.transport.token(options.signal))}`,
    };
    return (await this.calls.transport.authenticate('validateToken', { headers, options })).body.data;
  }
}
