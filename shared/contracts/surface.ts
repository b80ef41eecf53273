/**
 * Every path of the interface with its methods (spec, "Endpoints"), whichever service answers it: what a 405's
 * `Allow` says. HEAD and OPTIONS go with every GET (decisions §9).
 */
export const surface: Readonly<Record<string, readonly ('GET' | 'POST' | 'PATCH' | 'DELETE')[]>> = {
  '/auth/token': ['POST'],
  '/auth/refresh': ['POST'],
  '/auth/validate': ['POST'],
  '/api/store': ['GET'],
  '/api/store/search': ['GET'],
  '/api/store-listings': ['GET'],
  '/api/payment-methods': ['GET'],
  '/api/listings': ['GET'],
  '/api/listing': ['POST'],
  '/api/listing/:id': ['GET', 'PATCH', 'DELETE'],
  '/api/listing/:id/publications': ['GET'],
  '/api/publications': ['GET'],
  '/api/publication': ['POST'],
  '/api/publication/:id': ['GET', 'PATCH', 'DELETE'],
  '/api/publication/:id/related': ['GET'],
  '/api/publication/:id/reviews': ['GET'],
};
