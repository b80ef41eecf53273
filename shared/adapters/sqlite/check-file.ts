import { CHECK_EXIT_CODES } from './connection';
import { isDamageConfirmed } from './disposable-file';

/*
 * Main file of the process that checks a SQLite file. Its exit code says whether the file is damaged. If the check itself
 * fails, the code is another one, and the state of the file is unknown.
 */

process.exitCode = isDamageConfirmed(process.argv[2]!) ? CHECK_EXIT_CODES.damaged : CHECK_EXIT_CODES.intact;
