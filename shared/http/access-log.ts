import type { RequestHandler } from 'express';
import type { Logger } from '../kernel/log';
import { contextOf } from './context';
import type { HttpMetrics } from './metrics';

/** One line per request, without its query and headers: those may hold what is nobody's to read. */
export function accessLog(log: Logger, metrics: HttpMetrics | undefined): RequestHandler {
  return (req, res, next) => {
    const started_ms = performance.now();
    res.once('close', () => {
      const context = contextOf(res);
      const duration_ms = Math.round((performance.now() - started_ms) * 1000) / 1000;
      const { method } = req;
      const status = res.statusCode;
      metrics?.requestFinished({ method, route: context.route ?? 'none', status, duration_ms });
      const { request_id, path, principal } = context;
      const who = principal === undefined ? {} : { api_key_id: principal.api_key_id };
      const cut = res.writableFinished ? {} : { aborted: true };
      const line = { request_id, method, path, status, duration_ms, ...who, ...cut };
      if (context.area === 'other') log.debug(line, 'request');
      else log.info(line, 'request');
    });
    next();
  };
}
