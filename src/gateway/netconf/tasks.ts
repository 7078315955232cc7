import { BUSY, type RestartParams, numberOfPart } from '../../devices/commands/command.ts'
import type { CommandProgress } from '../../devices/tables.ts'
import type { DriverCommand, Rejection } from '../driver.ts'
import { refuseClusterVersion, upgradeCluster } from './cluster.ts'
import { type JunosFacts, partUptimes } from './facts.ts'
import { isBusy, packageFailure, refusesContent, withPackageStatus } from './packages.ts'
import { type RpcReply, errorsIn, oneLine, partsOf, rpcs } from './rpc.ts'
import { type Backup, type SoftwareSet, decideBackup, readSoftwareSets } from './software-sets.ts'
import { type Task, type TaskCall, type TaskResult, rejected, waits } from './task.ts'
import { findAll, textOf } from './xml.ts'

type Command<K extends DriverCommand['kind']> = Extract<DriverCommand, { kind: K }>

/** The commands that Junos devices execute. */
export type JunosCommand = Command<'restart' | 'stage' | 'activate' | 'restore_backup' | 'snapshot'>

/** Returns the requests that execute the command. Each one checks what earlier attempts have already achieved. */
export function startTask(command: JunosCommand, facts: JunosFacts): Task {
  switch (command.kind) {
    case 'restart':
      return restart(command, facts)
    case 'stage':
      return stage(command, facts)
    case 'activate':
      return activate(command, facts)
    case 'restore_backup':
      return restoreBackup(command, facts)
    case 'snapshot':
      return takeSnapshot(facts)
  }
}

/** Returns the path of the image: images with the same content have the same name. */
export function imagePath(sha256: string): string {
  return `/var/tmp/signalbox-${sha256.slice(0, 16)}.tgz`
}

function* restart({ member, node }: Command<'restart'>, facts: JunosFacts): Task {
  if (member !== undefined) return yield* restartPart({ member }, facts)
  if (node !== undefined) return yield* restartPart({ node }, facts)
  if (facts.nodes.length === 0) return yield* reboot(rpcs.reboot({}))
  // With the delay, the answering node accepts the request for the other one before it ends the connection.
  for (const { node: each } of facts.nodes.filter(({ isPresent }) => isPresent)) {
    const result = yield* rebootNode(each, { inMinutes: 1 })
    if (result.kind === 'rejected') return result
  }
  return { kind: 'done', text: null }
}

/** A part that has agreed to restart is still to go and to return: see hasReturned(). */
function* restartPart(part: { member: number } | { node: 'node0' | 'node1' }, facts: JunosFacts): Task {
  const reply = yield { rpc: rpcs.uptime, timeoutMs: waits.read, step: { step: 'check' } }
  const uptimeS = partUptimes(reply, facts).get(numberOfPart(part)) ?? null
  const step = stepOfPart('restart', part, uptimeS)
  const result = 'node' in part ? yield* rebootNode(part.node, { step }) : yield* reboot(rpcs.reboot(part), step)
  return result.kind === 'rejected' ? result : { kind: 'returning', part, uptimeS }
}

/** Returns the recorded step of a restarting part. */
export function stepOfPart(
  step: 'restart' | 'return',
  { member }: RestartParams,
  uptimeS: number | null,
): CommandProgress {
  return { step, ...(member !== undefined && { member }), ...(uptimeS !== null && { uptime_s: uptimeS }) }
}

/** Platforms differ in how they name a node. A request that is refused was certainly not executed. */
function* rebootNode(
  node: 'node0' | 'node1',
  { inMinutes = 0, step }: { readonly inMinutes?: number; readonly step?: CommandProgress } = {},
): Task {
  const result = yield* reboot(rpcs.reboot({ node }, inMinutes), step)
  return result.kind === 'rejected' ? yield* reboot(rpcs.reboot({ node: node.slice(-1) }, inMinutes), step) : result
}

function* reboot(rpc: TaskCall['rpc'], step: CommandProgress = { step: 'reboot' }): Task {
  const reply = yield { rpc, timeoutMs: waits.reboot, step, mayBreak: true }
  if (reply.kind === 'broken') return { kind: 'done', text: null }
  if (reply.kind === 'error') return rejected('refused', reply.text)
  return { kind: 'done', text: textOf(reply.root, 'request-reboot-status') }
}

function* stage({ uri, sha256, version }: Command<'stage'>, facts: JunosFacts): Task {
  const refusal = refuseClusterVersion(facts, version)
  if (refusal !== null) return refusal
  const path = imagePath(sha256)
  if (yield* hasImage(path, sha256, 'check')) return { kind: 'done', text: 'The device already had the image' }
  // The cleanup also deletes the files in /var/tmp, so it comes first. If it fails, there may still be enough space.
  yield { rpc: rpcs.cleanStorage, timeoutMs: waits.clean, step: { step: 'clean' } }
  const copied = yield { rpc: rpcs.copyFile(uri, path), timeoutMs: waits.copy, step: { step: 'download' } }
  if (copied.kind === 'error') return rejected('download_failed', copied.text)
  if (yield* hasImage(path, sha256, 'verify')) return { kind: 'done', text: null }
  const said = copied.kind === 'ok' ? textOf(copied.root, 'output') : null
  const why = said === null ? '' : `: ${oneLine(said)}`
  return rejected('download_failed', `The SHA-256 of the file on the device differs from the image's${why}`)
}

/** True if the device has exactly the image: it was downloaded completely. */
function* hasImage(path: string, sha256: string, step: 'check' | 'verify'): Task<boolean> {
  const reply = yield { rpc: rpcs.checksum(path), timeoutMs: waits.checksum, step: { step } }
  return reply.kind === 'ok' && textOf(reply.root, 'checksum')?.toLowerCase() === sha256
}

function* activate({ version, sha256 }: Command<'activate'>, facts: JunosFacts): Task {
  if (facts.nodes.length > 0) return yield* activateCluster({ version, sha256 }, facts)
  const incomplete = refuseAbsentMember(facts)
  if (incomplete !== null) return incomplete
  const before = yield* readSoftwareSets()
  const members = membersToInstall(facts, before, version)
  if (members.length > 0) {
    const failure = yield* install(members, { path: imagePath(sha256), sha256 })
    if (failure !== null) return failure
    const behind = before === null ? undefined : (yield* readSoftwareSets())?.find((set) => !runsNext(set, version))
    if (behind !== undefined) {
      const text = yield* withPackageStatus(`${nameOf(behind.member)} would not boot ${version}`)
      return rejected('not_installed', text)
    }
  }
  const result = yield* reboot(rpcs.reboot({}))
  const installed = members.map((member) => `${nameOf(member)}: installed`).join('; ')
  return result.kind === 'rejected' ? result : { kind: 'done', text: installed === '' ? null : installed }
}

/** Members with different versions don't form a Virtual Chassis, so all change theirs together. */
function refuseAbsentMember({ members }: JunosFacts): Rejection | null {
  const absent = members.find(({ isPresent }) => !isPresent)
  return absent === undefined ? null : rejected('member_absent', `Member ${absent.member} is not present`)
}

function* activateCluster({ version, sha256 }: Omit<Command<'activate'>, 'kind'>, facts: JunosFacts): Task {
  const refusal = refuseClusterVersion(facts, version)
  if (refusal !== null) return refusal
  const path = imagePath(sha256)
  return (yield* hasImage(path, sha256, 'check')) ? yield* upgradeCluster(path) : noImage
}

/**
 * Returns the members that need the installation, the master last; null stands for a device without members. If all
 * already run the version, it is installed again, as the request demands.
 */
function membersToInstall(
  { members }: JunosFacts,
  sets: readonly SoftwareSet[] | null,
  version: string,
): readonly (number | null)[] {
  const all = members.length < 2 ? [null] : members.toSorted(masterLast).map(({ member }) => member)
  const master = members.find(({ isMaster }) => isMaster)?.member ?? null
  const setOf = (member: number | null) =>
    sets?.find((set) => set.member === member) ??
    (member === master || member === null ? (sets?.find((set) => set.member === null) ?? sets?.[0]) : undefined)
  if (sets?.every((set) => set.active === version && set.pending === null) === true) return all
  return all.filter((member) => {
    const set = setOf(member)
    return set === undefined || !runsNext(set, version)
  })
}

const masterLast = (a: { readonly isMaster: boolean }, b: { readonly isMaster: boolean }): number =>
  Number(a.isMaster) - Number(b.isMaster)

function runsNext({ active, pending }: SoftwareSet, version: string): boolean {
  return (pending ?? active) === version
}

const noImage = rejected('no_image', 'The device no longer has the image that it downloaded')

interface StagedImage {
  readonly path: string
  readonly sha256: string
}

/**
 * Returns the reason for a failure; null: every member has the image. The others keep their current version until the
 * next boot.
 */
function* install(members: readonly (number | null)[], { path, sha256 }: StagedImage): Task<Rejection | null> {
  if (!(yield* hasImage(path, sha256, 'check'))) return noImage
  const results: string[] = []
  for (const member of members) {
    const step: CommandProgress = { step: 'install', ...(member !== null && { member }) }
    const reply = yield { rpc: rpcs.addPackage(path, member), timeoutMs: waits.install, step }
    const failure = packageFailure(reply)
    if (failure === null) results.push(`${nameOf(member)}: installed`)
    else {
      const said = yield* withPackageStatus(failure)
      const texts = member === null ? [said] : [`${nameOf(member)}: ${said}`, ...results]
      if (isBusy.test(failure)) return rejected(BUSY, texts.join('; '))
      return rejected('install_failed', texts.join('; '), refusesContent.test(failure))
    }
  }
  return null
}

function* restoreBackup({ version }: Command<'restore_backup'>, facts: JunosFacts): Task {
  const incomplete = refuseAbsentMember(facts)
  if (incomplete !== null) return incomplete
  const sets = yield* readSoftwareSets()
  const backup: Backup = sets === null ? { refusal: 'no backup version' } : decideBackup(sets)
  if ('refusal' in backup) return rejected('no_backup', backup.refusal, true)
  if (version !== undefined && backup.version !== version)
    return rejected('backup_changed', `The backup version is no longer ${version} but ${backup.version}`, true)
  const rpc = facts.members.length > 1 ? rpcs.rollBack : rpcs.rollBackHere
  // A connection that breaks here does not prove the reboot: the version of the device at its return does.
  const reply = yield { rpc, timeoutMs: waits.rollBack, step: { step: 'roll_back' } }
  const failure = packageFailure(reply)
  if (failure !== null) return rejected('restore_failed', failure)
  return { kind: 'done', text: `Returns to ${backup.version}` }
}

function* takeSnapshot(facts: JunosFacts): Task {
  const rpc = facts.members.length > 1 ? rpcs.snapshot : rpcs.snapshotHere
  const reply = yield { rpc, timeoutMs: waits.snapshot, step: { step: 'snapshot' } }
  if (reply.kind === 'error') return rejected('snapshot_failed', reply.text)
  if (reply.kind === 'broken') return rejected('snapshot_failed', 'the connection broke')
  return snapshotResult(reply)
}

/** Each member of a Virtual Chassis reports on its own. */
function snapshotResult({ root }: Extract<RpcReply, { kind: 'ok' }>): TaskResult {
  const results = partsOf(root).map(({ engine, element }) => {
    const output = findAll(element, 'output').map(({ text }) => text)
    const error = errorsIn(element) ?? output.find((text) => /error|failed/i.test(text))
    return { name: engine, error: error === undefined ? null : oneLine(error) }
  })
  const text = results.map(({ name, error }) => `${name ?? 'the device'}: ${error ?? 'snapshot taken'}`).join('; ')
  return results.some(({ error }) => error !== null) ? rejected('snapshot_failed', text) : { kind: 'done', text }
}

function nameOf(member: number | null): string {
  return member === null ? 'The device' : `Member ${member}`
}
