import type { Request, RequestHandler, Response } from 'express';
import { CatalogError } from '../kernel/errors';
import { attempt } from './attempt';
import type { AuthEndpoints } from './auth-endpoint';
import { payerOf } from './authenticator';
import { readBody } from './body';
import { contextOf } from './context';
import type { Limits } from './rate-limit';
import { sendAnswer } from './send';

const ALLOW = 'POST, OPTIONS';

/** Everything below `/auth`: find the key → rate limit → body → answer. */
export function authArea(endpoints: AuthEndpoints, limits: Limits): RequestHandler {
  return async (req, res) => {
    const context = contextOf(res);
    const endpoint = Object.hasOwn(endpoints, context.path) ? endpoints[context.path] : undefined;
    if (endpoint !== undefined) context.route = context.path;
    if (req.method === 'OPTIONS') return answerOptions(req, res, limits, endpoint !== undefined);
    if (endpoint === undefined || req.method !== 'POST') {
      await limits.admitAuth(req, res, endpoint?.name ?? 'none', undefined);
      if (endpoint === undefined) throw new CatalogError('path_not_found');
      res.setHeader('Allow', ALLOW);
      throw new CatalogError('method_not_allowed');
    }
    // Valid or not decides whose bucket pays, and an empty bucket comes before any other refusal.
    const exchange = await attempt(endpoint.open((name) => req.get(name)));
    const payer = exchange.ok ? exchange.value : payerOf(exchange.error);
    await limits.admitAuth(req, res, endpoint.name, payer);
    if (!exchange.ok) throw exchange.error;
    const body = await readBody(req, res);
    sendAnswer(req, res, { data: exchange.value.respond(body) });
  };
}

async function answerOptions(req: Request, res: Response, limits: Limits, known: boolean): Promise<void> {
  await limits.admitOptions(req, res);
  if (!known) throw new CatalogError('path_not_found');
  res.setHeader('Allow', ALLOW);
  res.status(204).end();
}
