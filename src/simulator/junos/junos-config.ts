import { AppError } from '../../platform/errors.ts'

/** A device's configuration to call home. */
export interface JunosConfig {
  readonly host: string
  readonly port: number
  readonly deviceId: string
  readonly secret: string
  /** The public key that may log in, as in `authorized_keys`. */
  readonly authorizedKey: string
}

/**
 * Parses the commands that `GET /orgs/{org_id}/ocdevices/outbound_ssh_cmd` returns, as far as a simulated device
 * follows them.
 * @param content The commands, or the whole answer.
 * @throws AppError invalid with one line that names the missing part.
 */
export function parseJunosConfig(content: string): JunosConfig {
  const text = commandsIn(content)
  const client = String.raw`^set system services outbound-ssh client \S+`
  return {
    ...placeOf(find(text, `${client} (\\S+ port \\d+)`, 'the address of the gateway')),
    deviceId: find(text, `${client} device-id (\\S+)`, 'device-id'),
    secret: find(text, `${client} secret (\\S+)`, 'secret'),
    authorizedKey: find(
      text,
      String.raw`^set system login user \S+ authentication \S+ "([^"]+)"`,
      'the key of the user',
    ),
  }
}

function commandsIn(content: string): string {
  try {
    const { cmd }: { readonly cmd?: unknown } = JSON.parse(content)
    return typeof cmd === 'string' ? cmd : content
  } catch {
    return content
  }
}

function find(text: string, pattern: string, what: string): string {
  const [, value] = new RegExp(pattern, 'm').exec(text) ?? []
  if (value === undefined) throw new AppError('invalid', `The configuration of Junos devices lacks ${what}`)
  return value
}

function placeOf(text: string): Pick<JunosConfig, 'host' | 'port'> {
  const [host = '', , port] = text.split(' ')
  return { host, port: Number(port) }
}
