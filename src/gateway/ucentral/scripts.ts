import { unzipSync } from 'node:zlib'
import { isHost, isInterface } from '../../devices/commands/host.ts'
import { deviceText } from '../device-text.ts'
import type { DriverDevice, EncodedCommand, Outcome, Ping, Rejection } from '../driver.ts'
import { type Call, MAX_INFLATED_BYTES } from '../websockets/jsonrpc.ts'
import { type Script, type ScriptStatus, isScriptResult } from './script-messages.ts'

/** Each ping waits for a second; a device also waits for the last answer and for the name's address. */
const PING_EXTRA_S = 30
const DIAGNOSTIC_S = 600
const QUERY_S = 10
/** The device ends a script after its time, and answers only then. */
const ANSWER_MS = 30_000

/** Enough for more than a hundred pings. */
const MAX_OUTPUT_CHARACTERS = 16 * 1024

const unsafeHost: Rejection = {
  kind: 'rejected',
  code: 'unsafe_host',
  text: 'the host or the interface is not safe in a shell',
  final: true,
}

/**
 * Encodes pings as a script. The client of switches has no shell: it splits lines into words, runs those that begin with
 * `ping`, and skips others. An access point returns only what a script prints to its standard output.
 * Source: wlan-ucentral-schema, `cmd_script.uc`; ols-ucentral-client, `script_runner`.
 */
export function encodePing(device: DriverDevice, { host, count, size, egressInterface }: Ping) {
  if (!isHost(host) || (egressInterface !== undefined && !isInterface(egressInterface))) return unsafeHost
  const words = ['ping', '-c', count, '-s', size, ...(egressInterface === undefined ? [] : ['-I', egressInterface])]
  const line = [...words, host, ...(device.type === 'switch' ? [] : ['2>&1'])].join(' ')
  const script = Buffer.from(`#!/bin/sh\n${line}\n`).toString('base64')
  return encodeScript(device, { type: 'shell', script, timeout: count + PING_EXTRA_S })
}

/** The client of access points has a file for each call that it queues, until the call is completed. */
const TASK_FILE = '/tmp/ucentral.cmd.'

/**
 * Encodes the question which of the calls an access point has not completed. The question itself is one of them, so that
 * its file proves that the client has such files.
 * Source: wlan-ucentral-client, `cmd.c`.
 */
export function encodeTaskQuery(
  serial: string,
  { ownId, callIds }: { readonly ownId: number; readonly callIds: readonly number[] },
): Call {
  const files = [ownId, ...callIds].map((id) => TASK_FILE + String(id).padStart(10, '0'))
  const script = Buffer.from(`#!/bin/sh\nls ${files.join(' ')} 2>/dev/null\n`).toString('base64')
  return { method: 'script', params: { serial, when: 0, type: 'shell', script, timeout: QUERY_S } }
}

/** Returns the calls of the question that are not completed; null if the access point does not answer it. */
export function decodeTasks(result: unknown, ownId: number): readonly number[] | null {
  if (!isScriptResult(result)) return null
  const lines = outputOf(result.status)?.split('\n') ?? []
  const ids = lines.flatMap((line) => (line.startsWith(TASK_FILE) ? [Number(line.slice(TASK_FILE.length))] : []))
  return ids.includes(ownId) ? ids : null
}

/** Encodes a command to collect the device's own diagnostics and to post them to the address as a form. */
export function encodeSupport(device: DriverDevice, { uri }: { readonly uri: string }): EncodedCommand<Call> {
  return encodeScript(device, { type: 'diagnostic', uri, timeout: DIAGNOSTIC_S })
}

function encodeScript(
  { mac: serial }: DriverDevice,
  script: Omit<Script, 'serial' | 'when'> & { readonly timeout: number },
): EncodedCommand<Call> {
  const params = { serial, when: 0, ...script }
  return { kind: 'call', call: { method: 'script', params }, timeoutMs: script.timeout * 1000 + ANSWER_MS }
}

/** Results by which a device reports that it has not run a script, or not completely. */
const refusals: ReadonlySet<string> = new Set(['invalid base64', 'invalid signature', 'timed out'])

/** A ping without any answers has an exit code too, and is done: its output shows the loss. */
export function decodePing(result: unknown): Outcome | null {
  return decodeScript(result, (output) => ({ kind: 'done', text: deviceText(output, MAX_OUTPUT_CHARACTERS) }))
}

/** A device answers `pending` first, and does not report its upload, which may fail. */
export function decodeSupport(result: unknown): Outcome | null {
  return decodeScript(result, (output, code) => {
    if (code !== 0) return rejected(code, output)
    return output === 'pending' ? { kind: 'accepted' } : { kind: 'done', text: deviceText(output) }
  })
}

function decodeScript(result: unknown, decode: (output: string, code: number) => Outcome): Outcome | null {
  if (!isScriptResult(result)) return null
  const { status } = result
  const { error: code, text = '' } = status
  if (typeof code === 'string') return rejected(code, 'the device could not run it')
  const output = outputOf(status)
  if (output === null) return code === 0 ? { kind: 'done', text: deviceText(text) } : rejected(code, text)
  return code !== 0 && refusals.has(output) ? rejected(code, output) : decode(output, code)
}

function outputOf({ result, result_64: packed }: ScriptStatus): string | null {
  if (packed === undefined) return result === undefined ? null : String(result)
  try {
    return unzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_INFLATED_BYTES }).toString('utf8')
  } catch {
    return "(output that can't be read)"
  }
}

function rejected(code: number | string, text: string): Rejection {
  return { kind: 'rejected', code: String(code).slice(0, 50).toWellFormed(), text: deviceText(text), final: false }
}
