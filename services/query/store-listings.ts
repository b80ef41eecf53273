/** `GET /api/store-listings` and `GET /api/listings` are one list under two names (spec, "Read endpoints"). */
export { readListings as readStoreListings } from './listings';
