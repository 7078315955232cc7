import { isGatewayCall } from '../gateway/ucentral/messages.ts'
import type { DeviceInput, DeviceState, Effect, Profile, Step } from './ucentral/device.ts'

type Call = Extract<DeviceInput, { on: 'call' }>

/**
 * Runs pings, and collects diagnostics, as the real clients answer such scripts. Nothing leaves the simulator: hosts of
 * `.invalid` have no address, those of 192.0.2.0/24 do not answer, and all others do.
 */
export function runScript(profile: Profile, state: DeviceState, call: Call): Step {
  if (!isGatewayCall('script', call.params)) return answer(state, call, { error: 1, text: 'invalid parameters' })
  const { type, script = '', uri } = call.params
  if (type === 'diagnostic') return collect(profile, state, call)
  if (profile.faults.has('refuse')) return refuse(profile, state, call)
  const text = Buffer.from(script, 'base64').toString('utf8')
  const files = profile.type === 'ap' ? taskFilesOf(text) : null
  if (files !== null) return answer(state, call, listTasks(files, [call.id, ...callsOf(state)]))
  const words = pingOf(text, profile.type)
  if (words === null || uri !== undefined) return answer(state, call, { error: 127, result: '' })
  return answer(state, call, ping(words))
}

/** An access point that runs signed scripts only, and a switch that is busy with another script. */
function refuse(profile: Profile, state: DeviceState, call: Call): Step {
  if (profile.type === 'ap') return answer(state, call, { error: 3, result: 'invalid signature' })
  return answer(state, call, { error: 1, text: 'failed to start execution' })
}

/** An access point answers before its upload has begun, a switch after it has ended, however it ended. */
function collect(profile: Profile, state: DeviceState, call: Call): Step {
  const uri = call.params['uri']
  if (typeof uri !== 'string') return answer(state, call, { error: 1, text: 'invalid parameters' })
  if (profile.faults.has('refuse') && profile.type === 'switch') return refuse(profile, state, call)
  const begun = replyOf(call.id, { error: 0, result: 'pending' })
  if (profile.faults.has('refuse')) {
    const failed = replyOf(call.id, { error: 1, result: 'script did not generate any output' })
    return { state, effects: [begun, failed] }
  }
  const upload: Effect = { do: 'upload', uri, callId: call.id }
  return { state, effects: [begun, upload, ...(profile.type === 'ap' ? [done(call.id)] : [])] }
}

/** The end of an upload: an access point logs it, and a switch answers its call. */
export function endUpload(
  profile: Profile,
  state: DeviceState,
  { callId, isStored }: { readonly callId: number; readonly isStored: boolean },
): Step {
  if (profile.type === 'switch') return { state, effects: [done(callId)] }
  const log = isStored ? 'upload complete' : 'failed to upload file'
  const params = { serial: profile.mac, log, severity: isStored ? 6 : 3 }
  return { state, effects: [{ do: 'notify', method: 'log', params }] }
}

interface Ending {
  readonly error: number
  /** A remark of the client. */
  readonly text?: string
  /** The output of the script. */
  readonly result?: string
}

function replyOf(id: number, { error, text = '', result }: Ending): Effect {
  return { do: 'reply', id, error, text: result ?? text, ...(result !== undefined && { as: 'result' as const }) }
}

function done(callId: number): Effect {
  return replyOf(callId, { error: 0, result: 'done' })
}

function answer(state: DeviceState, call: Call, ending: Ending): Step {
  return { state, effects: [replyOf(call.id, ending)] }
}

interface PingWords {
  readonly count: number
  readonly size: number
  readonly host: string
}

/** A shell would interpret these characters; the client of switches has none, and passes them to the program. */
const shellCharacters = /[;&|<>`$()'"\\*?]/

/** @returns Null if the script is not a ping, or more than that. */
function pingOf(script: string, type: Profile['type']): PingWords | null {
  const lines = script.split('\n').filter((line) => line !== '' && !line.startsWith('#!'))
  const [line = ''] = lines
  const words = (type === 'ap' ? line.replace(/ 2>&1$/, '') : line).split(' ')
  const [program, countFlag, count, sizeFlag, size, ...rest] = words
  const [host, ...others] = rest[0] === '-I' ? rest.slice(2) : rest
  if (lines.length !== 1 || program !== 'ping' || countFlag !== '-c' || sizeFlag !== '-s') return null
  if (host === undefined || others.length > 0 || words.some((word) => shellCharacters.test(word))) return null
  return { count: Number(count), size: Number(size), host }
}

/** @returns Null if the script does not list the files of calls. */
function taskFilesOf(script: string): readonly string[] | null {
  const [, names] = /^#!\/bin\/sh\nls ((?:\/tmp\/ucentral\.cmd\.\d{10} ?)+) 2>\/dev\/null\n$/.exec(script) ?? []
  return names?.split(' ') ?? null
}

/** The calls that the client has not completed. */
function callsOf({ activity, queue = [] }: DeviceState): number[] {
  const present = 'callId' in activity ? [activity.callId] : []
  return [...present, ...queue.map(({ callId }) => callId)]
}

/** Lists the files that exist, as `ls` does. */
function listTasks(files: readonly string[], callIds: readonly number[]): Ending {
  const present = new Set(callIds.map((id) => `/tmp/ucentral.cmd.${String(id).padStart(10, '0')}`))
  const found = files.filter((file) => present.has(file))
  return { error: found.length < files.length ? 1 : 0, result: found.map((file) => `${file}\n`).join('') }
}

const MAX_PING_BYTES = 65_507

function ping({ count, size, host }: PingWords): Ending {
  if (size > MAX_PING_BYTES) return { error: 1, result: `ping: packet size ${size} is too large\n` }
  if (host.endsWith('.invalid')) return { error: 1, result: `ping: bad address '${host}'\n` }
  const isSilent = host.startsWith('192.0.2.')
  const answers = isSilent
    ? []
    : Array.from(
        { length: count },
        (_, seq) => `${size + 8} bytes from ${host}: seq=${seq} ttl=64 time=0.${seq + 100} ms`,
      )
  const lines = [
    `PING ${host} (${host}): ${size} data bytes`,
    ...answers,
    '',
    `--- ${host} ping statistics ---`,
    `${count} packets transmitted, ${answers.length} packets received, ${isSilent ? 100 : 0}% packet loss`,
  ]
  return { error: isSilent ? 1 : 0, result: `${lines.join('\n')}\n` }
}
