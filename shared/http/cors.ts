import type { RequestHandler } from 'express';
import { contextOf } from './context';

const EXPOSED = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-RateLimit-Tier',
  'Retry-After',
  'ETag',
  'Location',
  'X-Request-Id',
  'X-Catalog-Position',
  'Idempotent-Replayed',
].join(', ');

const ACCEPTED = [
  'Authorization',
  'X-API-Key',
  'Content-Type',
  'If-None-Match',
  'X-Request-Id',
  'X-Catalog-Min-Position',
].join(', ');

/** How long a browser may keep a preflight's answer; no browser keeps one longer. */
const MAX_AGE_S = 7200;

/**
 * Any origin may read with a public key's token and use `/auth/*` (decisions §9). Writes need a secret key, and secret
 * keys are for servers: a preflight of a write names only the reading methods, so that the browser refuses to send it.
 * Credentials travel in headers that a script sets itself, never in cookies: hence the `*`.
 */
export const cors: RequestHandler = (req, res, next) => {
  const { area } = contextOf(res);
  // A page may read the error of a method that no browser has to ask for first; what it was sent for was not done.
  const writing = req.method === 'POST' || req.method === 'PATCH' || req.method === 'DELETE';
  if (!writing || area === 'auth') {
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.setHeader('Access-Control-Expose-Headers', EXPOSED);
  }
  if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined) {
    res.setHeader('Access-Control-Allow-Methods', area === 'auth' ? 'POST, OPTIONS' : 'GET, HEAD, OPTIONS');
    res.setHeader('Access-Control-Allow-Headers', ACCEPTED);
    res.setHeader('Access-Control-Max-Age', String(MAX_AGE_S));
  }
  next();
};
