import { forkProjectionsAhead } from './projection-fork';

/* Imported by the all-in-one service before its other modules, which take most of the time of a start to load. */

const { EVENTSTORE_URL, MONGODB_URL, REDIS_URL } = process.env;
// With a server, the pipelines run in the service itself.
if (!EVENTSTORE_URL && !MONGODB_URL && !REDIS_URL) forkProjectionsAhead();
