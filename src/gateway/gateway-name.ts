/** X.509 allows a common name no more characters (`ub-common-name`). */
const MAX_COMMON_NAME = 64

/**
 * The common name of the gateway's certificate. Access points compare it, as text, with the address that
 * they were given; older firmwares look at nothing else.
 */
export function gatewayCommonName(host: string): string {
  return host.length <= MAX_COMMON_NAME ? host : 'Signalbox gateway'
}
