import type { RequestHandler } from 'express';
import { CatalogError } from '../kernel/errors';
import { contextOf } from './context';

/** Second stage: what every response carries. */
export const securityHeaders: RequestHandler = (_req, res, next) => {
  res.setHeader('X-Content-Type-Options', 'nosniff');
  next();
};

/** Asked for here and not by Node, whose refusal would have no body and no `X-Request-Id` (RFC 9112 §3.2). */
export const requireHost: RequestHandler = (req, _res, next) => {
  if (req.headers.host === undefined && req.httpVersion === '1.1')
    throw new CatalogError('malformed_request', { message: 'The Host header is missing' });
  next();
};

/**
 * Tokens and API keys change the answer, so nothing is shared between clients: `/api` answers are kept by the client
 * alone and asked for again (an ETag makes that cheap); tokens are kept by nobody (RFC 6749 §5.1).
 */
export const cacheHeaders: RequestHandler = (_req, res, next) => {
  const { area } = contextOf(res);
  if (area === 'api') {
    res.setHeader('Cache-Control', 'private, no-cache');
    res.setHeader('Vary', 'Authorization, Accept-Encoding');
  } else res.setHeader('Vary', 'Accept-Encoding');
  if (area === 'auth') res.setHeader('Cache-Control', 'no-store');
  next();
};
