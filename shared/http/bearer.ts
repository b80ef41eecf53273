import type { Request, RequestHandler, Response } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { CatalogError } from '../kernel/errors';
import type { BearerCheck } from './authenticator';
import type { Principal } from './principal';

type Verified = (error: unknown, principal?: Principal) => void;

/**
 * Who asks, from the Authorization header alone: a token in the query would be kept in logs and histories. Throws
 * `unauthenticated` where there is no bearer token and what `Authenticator.authenticate` throws otherwise.
 */
export function bearerIdentity(
  authenticator: BearerCheck,
): (req: Request, res: Response) => Promise<Principal> {
  const guard = new passport.Passport();
  guard.use(
    new Strategy({ realm: 'catalog' }, (token: string, done: Verified) => {
      authenticator.authenticate(token).then(
        (principal) => done(null, principal),
        (error: unknown) => done(error),
      );
    }),
  );
  return (req, res) =>
    new Promise((resolve, reject) => {
      const decide = (error: unknown, principal?: Principal | false): void => {
        if (error) reject(error);
        else if (principal) resolve(principal);
        else
          reject(new CatalogError(bearerOf(req.headers.authorization) ? 'token_invalid' : 'unauthenticated'));
      };
      const middleware = guard.authenticate('bearer', { session: false }, decide) as RequestHandler;
      // Passport hangs its methods onto what it is given, and a request that has grown so is slow from then on.
      const shown = { headers: { authorization: req.headers.authorization } };
      middleware(shown as Request, res, reject);
    });
}

/** What follows `Bearer`, well-formed or not; undefined where there is nothing or another scheme (RFC 6750 §2.1). */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer (\S.*)$/i.exec(header ?? '')?.[1];
}
