/** The longest common name that X.509 allows (`ub-common-name`). */
const MAX_COMMON_NAME = 64

/**
 * Returns the common name for the gateway's certificate. Access points compare it as text with the configured address;
 * older firmware checks nothing else.
 */
export function gatewayCommonName(host: string): string {
  return host.length <= MAX_COMMON_NAME ? host : 'Signalbox gateway'
}
