import { randomUUID } from 'node:crypto';
import { ClusterInfo, EndPoint, MemberInfo } from '@eventstore/db-client/generated/gossip_pb';
import { SupportedMethod, SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb';
import { type Empty, UUID } from '@eventstore/db-client/generated/shared_pb';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import type { CallGate } from './call-gate';

const VERSION = '23.10.0';
const FEATURES: Record<string, readonly string[]> = {
  Read: ['position', 'events'],
  BatchAppend: ['deadline_duration'],
};

/** ServerFeatures.GetSupportedMethods: returns names in lower case, as the server does. */
export function featuresHandler(gate: CallGate) {
  return (_call: ServerUnaryCall<Empty, SupportedMethods>, answer: sendUnaryData<SupportedMethods>): void => {
    gate.enter(answer, () => {
      const known = Object.values(StreamsService).filter(
        ({ path }) => !gate.faults.current.no_batch_appends || !path.endsWith('/BatchAppend'),
      );
      const methods = known.map(({ path }) => {
        const [, service = '', name = ''] = path.split('/');
        const method = new SupportedMethod();
        method.setServiceName(service.toLowerCase());
        method.setMethodName(name.toLowerCase());
        method.setFeaturesList([...(FEATURES[name] ?? [])]);
        return method;
      });
      const supported = new SupportedMethods();
      supported.setEventStoreServerVersion(VERSION);
      supported.setMethodsList(methods);
      answer(null, supported);
    });
  };
}

/** Gossip.Read: returns the nodes of the cluster. */
export function gossipHandler(gate: CallGate) {
  return (_call: ServerUnaryCall<Empty, ClusterInfo>, answer: sendUnaryData<ClusterInfo>): void => {
    if (gate.faults.current.silent) return;
    const members = gate.members.map(({ leads, ...listening }) => {
      const { host, port } = gate.faults.current.advertised ?? listening;
      const endpoint = new EndPoint();
      endpoint.setAddress(host);
      endpoint.setPort(port);
      const { LEADER, FOLLOWER } = MemberInfo.VNodeState;
      const member = new MemberInfo();
      member.setInstanceId(new UUID().setString(randomUUID()));
      member.setState(leads ? LEADER : FOLLOWER);
      member.setIsAlive(true);
      member.setHttpEndPoint(endpoint);
      return member;
    });
    answer(null, new ClusterInfo().setMembersList(members));
  };
}
