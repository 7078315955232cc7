import { SSH_USER } from './ssh-user.ts'

/** The address of the service for devices that call home. */
export interface CallHomePlace {
  readonly host: string
  readonly port: number
}

export interface JunosCommandInput extends CallHomePlace {
  readonly orgId: string
  readonly secret: string
  /** As in `authorized_keys`. */
  readonly publicKey: string
}

/**
 * Returns the configuration commands that make a Junos device call home, one per line. The device names the
 * organization, and the secret proves that a member of the organization has configured it. Source: Junos OS CLI
 * reference, `outbound-ssh`.
 */
export function junosCommands({ host, port, orgId, secret, publicKey }: JunosCommandInput): string {
  const user = `set system login user ${SSH_USER}`
  const client = `set system services outbound-ssh client ${SSH_USER}`
  return [
    `${user} class super-user`,
    `${user} authentication ssh-ed25519 "${publicKey}"`,
    'set system services ssh protocol-version v2',
    `${client} device-id ${orgId}`,
    `${client} secret ${secret}`,
    `${client} services netconf`,
    `${client} keep-alive retry 12 timeout 5`,
    `${client} reconnect-strategy sticky`,
    `${client} ${host} port ${port} timeout 60 retry 1000`,
  ].join('\n')
}
