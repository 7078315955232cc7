import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { access, constants, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { Account } from './account.ts'
import { AppError } from '../errors.ts'

const run = promisify(execFile)

export type PostgresProcess = ChildProcessByStdio<null, Readable, Readable>

/** How a PostgreSQL program has to be started here. */
export interface Launch {
  /** Put before the program and its arguments; empty where there is no setpriv. */
  readonly prefix: readonly string[]
  /** Set where we have to change user ourselves. */
  readonly account: Account | null
}

export interface LaunchRequest {
  /** Null: our own user. */
  readonly account: Account | null
  /** Files and folders that the program must reach by their absolute paths. */
  readonly paths: readonly string[]
}

const SETPRIV_PLACES = [
  '/usr/bin/setpriv',
  '/bin/setpriv',
  '/usr/local/bin/setpriv',
  '/run/current-system/sw/bin/setpriv',
]

/** Bits of CapEff, from linux/capability.h; least powerful first. */
const PASSING_CAPABILITIES = [
  { name: 'dac_read_search', bit: 2n },
  { name: 'dac_override', bit: 1n },
] as const
const SETPCAP = { bit: 8n } as const

/**
 * With util-linux's setpriv the kernel itself interrupts the program when we
 * die, however we die. Without (macOS, Alpine) an orphan stays until the next
 * start stops it.
 *
 * @throws AppError `unavailable` when the account could not reach `paths`.
 */
export async function planLaunch({ account, paths }: LaunchRequest): Promise<Launch> {
  const setpriv = await findSetpriv()
  const blocked = account === null ? null : await findBlockedFolder(account, paths)
  const held = blocked === null ? 0n : await readCapabilities()
  const capability = PASSING_CAPABILITIES.find((one) => isHeld(held, one))?.name ?? null
  if (blocked !== null && (setpriv === null || capability === null)) {
    throw new AppError(
      'unavailable',
      `PostgreSQL can't run as root, and user ${account?.uid} can't pass through ${blocked}`,
    )
  }
  if (setpriv === null) return { prefix: [], account }
  const prefix = [setpriv, '--pdeathsig=INT']
  if (account !== null) prefix.push(`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups')
  if (capability !== null) {
    prefix.push(`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`)
    // PostgreSQL looks for its own files by access(2), which otherwise leaves out capabilities unless one is root.
    if (isHeld(held, SETPCAP)) prefix.push('--securebits=+no_setuid_fixup')
  }
  return { prefix: [...prefix, '--'], account: null }
}

/**
 * Starts a program as planned, in a process group of its own, so that Ctrl-C in
 * a terminal reaches us alone and we stop it in order.
 *
 * @param env Added to a bare environment: ours may hold secrets.
 */
export function launchProgram(
  launch: Launch,
  command: readonly string[],
  env: NodeJS.ProcessEnv = {},
): PostgresProcess {
  const [program = '', ...args] = [...launch.prefix, ...command]
  return spawn(program, args, {
    ...(launch.account === null ? {} : { uid: launch.account.uid, gid: launch.account.gid }),
    cwd: '/', // ours may be closed to the other user
    detached: true,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function findSetpriv(): Promise<string | null> {
  if (process.platform !== 'linux') return null
  for (const place of SETPRIV_PLACES) {
    const executable = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    )
    // BusyBox has a setpriv that lacks this option.
    if (executable)
      return run(place, ['--pdeathsig=INT', '--', 'true']).then(
        () => place,
        () => null,
      )
  }
  return null
}

/** The topmost folder on the way to one of `paths` that the account may not search. */
async function findBlockedFolder(account: Account, paths: readonly string[]): Promise<string | null> {
  for (const folder of new Set(paths.flatMap(ancestors))) {
    const { uid, gid, mode } = await stat(folder)
    const bits = uid === account.uid ? mode >> 6 : gid === account.gid ? mode >> 3 : mode
    if ((bits & 1) === 0) return folder
  }
  return null
}

/** Root first, without `path` itself. */
function ancestors(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [] : [...ancestors(parent), parent]
}

/** Those we have, and may hand to the other user so that it passes closed folders; containers often lack some. */
async function readCapabilities(): Promise<bigint> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  return BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
}

function isHeld(capabilities: bigint, { bit }: { readonly bit: bigint }): boolean {
  return ((capabilities >> bit) & 1n) === 1n
}
