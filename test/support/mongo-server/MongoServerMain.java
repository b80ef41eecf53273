import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.h2.mvstore.MVStore;

/** A MongoDB-protocol server for tests: `java -cp 'lib/*' MongoServerMain.java <port> <file> [<host>]`, on 127.0.0.1 by default. */
class MongoServerMain {
    /** The least that the driver speaks to, and what the server really does. */
    private static final MongoVersion VERSION = new MongoVersion() {
        public List<Integer> getVersionArray() { return List.of(5, 0, 0); }
        public int getWireVersion() { return 13; }
    };

    /** Commands that need a collection or its indexes for themselves. MongoDB locks them; the library does not. */
    private static final Set<String> EXCLUSIVE =
        Set.of("create", "createIndexes", "drop", "dropDatabase", "dropIndexes");

    private static final class LockingBackend extends H2Backend {
        /** By name of a database, so that tests, which have databases of their own, do not wait for each other. */
        private final Map<String, ReentrantReadWriteLock> locks = new ConcurrentHashMap<>();

        LockingBackend(MVStore store) { super(store); }

        @Override
        public Document handleMessage(MongoMessage message) {
            ReentrantReadWriteLock lock =
                locks.computeIfAbsent(message.getDatabaseName(), name -> new ReentrantReadWriteLock(true));
            boolean isExclusive = EXCLUSIVE.contains(message.getDocument().keySet().iterator().next());
            Lock held = isExclusive ? lock.writeLock() : lock.readLock();
            held.lock();
            try {
                return super.handleMessage(message);
            } finally {
                held.unlock();
            }
        }
    }

    public static void main(String[] arguments) {
        // A thread answers its connections one after the other. With the default of two per core, a slow query makes others wait.
        System.setProperty("io.netty.eventLoopThreads", "128");
        // A write is on disk this many milliseconds after its answer; a stop by SIGTERM loses none.
        MVStore store = new MVStore.Builder().fileName(arguments[1]).autoCommitDisabled().open();
        store.setAutoCommitDelay(20);
        MongoServer server = new MongoServer(new LockingBackend(store).version(VERSION));
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
        server.bind(arguments.length > 2 ? arguments[2] : "127.0.0.1", Integer.parseInt(arguments[0]));
    }
}
