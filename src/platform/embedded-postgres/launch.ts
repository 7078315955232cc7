import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { access, constants, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { Account } from './account.ts'
import { AppError } from '../errors.ts'

const run = promisify(execFile)

export type PostgresProcess = ChildProcessByStdio<null, Readable, Readable>

/** How to start a PostgreSQL program here. */
export interface Launch {
  /** Precedes the program and its arguments; empty if there is no setpriv. */
  readonly prefix: readonly string[]
  /** Set where this process must change the user itself. */
  readonly account: Account | null
}

export interface LaunchRequest {
  /** Null: the user of this process. */
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
 * With util-linux's setpriv the kernel itself interrupts the program when this process dies, for whatever reason.
 * Without it (macOS, Alpine) an orphan runs until the next start stops it.
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
    // PostgreSQL looks for its own files by access(2), which ignores capabilities for users other than root.
    if (isHeld(held, SETPCAP)) prefix.push('--securebits=+no_setuid_fixup')
  }
  return { prefix: [...prefix, '--'], account: null }
}

/**
 * Starts a program as planned, in a separate process group, so that Ctrl-C in a terminal reaches only this process,
 * which stops the program in order.
 * @param env Added to a minimal environment, because that of this process may contain secrets.
 */
export function launchProgram(
  launch: Launch,
  command: readonly string[],
  env: NodeJS.ProcessEnv = {},
): PostgresProcess {
  const [program = '', ...args] = [...launch.prefix, ...command]
  return spawn(program, args, {
    ...(launch.account === null ? {} : { uid: launch.account.uid, gid: launch.account.gid }),
    cwd: '/', // The current folder may be closed to the other user.
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

/** Returns the topmost folder on the way to one of `paths` that the account may not search. */
async function findBlockedFolder(account: Account, paths: readonly string[]): Promise<string | null> {
  for (const folder of new Set(paths.flatMap(ancestors))) {
    const { uid, gid, mode } = await stat(folder)
    const bits = uid === account.uid ? mode >> 6 : gid === account.gid ? mode >> 3 : mode
    if ((bits & 1) === 0) return folder
  }
  return null
}

/** Returns the ancestors from the root down, without `path` itself. */
function ancestors(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [] : [...ancestors(parent), parent]
}

/**
 * Returns the capabilities that this process has and may pass on, so that the other user can enter closed folders;
 * containers often lack some.
 */
async function readCapabilities(): Promise<bigint> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  return BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
}

function isHeld(capabilities: bigint, { bit }: { readonly bit: bigint }): boolean {
  return ((capabilities >> bit) & 1n) === 1n
}
