export { pause } from './async';
