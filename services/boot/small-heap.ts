import { setFlagsFromString } from 'node:v8';

/*
 * Has V8 collect the garbage of old objects each time the heap has grown by a fifth. By default, the heap may double or
 * more before that, and a process with a full edge cache would use 100 MB more. V8 reads this flag at each collection, so
 * it may be set while the process runs.
 */
setFlagsFromString('--heap-growing-percent=20');
