import type { RequestHandler } from 'express';

/** Several stages as one: a router's own way from one to the next costs more than most of them. */
export function inTurn(stages: readonly RequestHandler[]): RequestHandler {
  const last: RequestHandler = (_req, _res, next) => next();
  return stages.reduceRight((after, stage): RequestHandler => {
    return (req, res, next) =>
      stage(req, res, (error?: unknown) => (error ? next(error) : after(req, res, next)));
  }, last);
}
