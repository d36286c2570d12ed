import type { MemberNames } from "../json-lines.js";

/** A format that has a name: lines of text as nginx would write their format, and the members of JSON lines. */
export interface NamedFormat {
  /** The layouts of lines of text. The first that fits is taken. */
  readonly texts?: readonly string[];
  readonly members?: MemberNames;
  /** The names of the fields of W3C lines without a line `#Fields`. Empty if they must have it. */
  readonly w3c?: string;
}

const COMMON = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent';
const COMBINED = `${COMMON} "$http_referer" "$http_user_agent"`;
const HAPROXY = "$client_ip:$client_port [$time_local] $frontend $backend/$server $timers ";
const HAPROXY_HTTP = `${HAPROXY}$status $bytes_read $request_cookie $response_cookie $state $connections $queues`;
const NLB = "$type $version $time $elb $listener $client_ip:$client_port $destination $connection_time $tls_handshake_time ";
const ELB =
  "$time $elb $client_ip:$client_port $target $request_processing_time $target_processing_time " +
  '$response_processing_time $elb_status_code $target_status_code $received_bytes $sent_bytes "$request"';
const ALB = `$type ${ELB} "$user_agent" `;
const ENVOY = '[$start_time] "$request" $status $response_flags ';
const OF_ENVOY =
  "$bytes_received $bytes_sent $duration $upstream_time " +
  '"$x_forwarded_for" "$user_agent" "$request_id" "$authority" "$upstream_host"';
const OF_ISTIO = `${OF_ENVOY} $upstream_cluster $upstream_local_address $downstream_local_address $client_ip:$client_port `;

export const NAMED_FORMATS: Readonly<Record<string, NamedFormat>> = {
  alb: {
    texts: [`${ALB}$ssl_cipher $ssl_protocol $target_group_arn "$trace_id" "$domain_name" `, ALB],
  },
  caddy: {
    members: {
      address: ["request.client_ip", "request.remote_ip", "request.remote_addr"],
      user: ["user_id"],
      time: ["ts"],
      method: ["request.method"],
      path: ["request.uri"],
      bytes: ["size"],
    },
    texts: [COMBINED, COMMON],
  },
  cloudfront: {
    w3c:
      "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) " +
      "cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken " +
      "x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status " +
      "fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len " +
      "sc-range-start sc-range-end",
  },
  combined: { texts: [COMBINED] },
  common: { texts: [COMMON] },
  elb: { texts: [`${ELB} "$user_agent" `, ELB] },
  envoy: { texts: [`${ENVOY}${OF_ENVOY}`] },
  haproxy: {
    texts: [
      `${HAPROXY_HTTP} {$request_headers} {$response_headers} "$request"`,
      `${HAPROXY_HTTP} {$request_headers} "$request"`,
      `${HAPROXY_HTTP} "$request"`,
      `${HAPROXY}$bytes_read $state $connections $queues`,
    ],
  },
  istio: {
    texts: [
      `${ENVOY}$response_code_details $connection_termination_details "$transport_failure" ${OF_ISTIO}`,
      `${ENVOY}"$mixer_status" "$transport_failure" ${OF_ISTIO}`,
      `${ENVOY}${OF_ISTIO}`,
    ],
  },
  nlb: { texts: [NLB] },
  squid: { texts: ["$time $duration $client_ip $result/$status $bytes $method $url $user $hierarchy/$server $type"] },
  traefik: {
    members: {
      address: ["ClientHost", "ClientAddr"],
      user: ["ClientUsername"],
      time: ["StartUTC", "StartLocal", "time"],
      status: ["DownstreamStatus"],
      method: ["RequestMethod"],
      path: ["RequestPath"],
      bytes: ["DownstreamContentSize"],
    },
    texts: [`${COMBINED} $request_count $router $service_url $duration`, COMBINED, COMMON],
  },
  vhost_combined: { texts: [`$server_name:$server_port ${COMBINED}`] },
  w3c: { w3c: "" },
};

/** The names, as a text. */
export const FORMAT_NAMES = Object.keys(NAMED_FORMATS).join(", ");
