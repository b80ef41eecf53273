import { CHECK_EXIT_CODES } from './connection';
import { isDamageConfirmed } from './disposable-file';

/* Main file of the process that checks a SQLite file. Its exit code is the result: any other code means that it is unknown. */

process.exitCode = isDamageConfirmed(process.argv[2]!) ? CHECK_EXIT_CODES.damaged : CHECK_EXIT_CODES.intact;
