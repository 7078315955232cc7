import { BUSY } from '../../devices/commands/command.ts'
import type { Rejection } from '../driver.ts'
import type { JunosFacts } from './facts.ts'
import { isBusy, packageFailure } from './packages.ts'
import { rpcs } from './rpc.ts'
import { type Task, rejected, waits } from './task.ts'

/** The models whose clusters upgrade both nodes on one request, in band. Source: Juniper's guide for clusters. */
const upgradesInBand = /^SRX3(?:00|20|40|45|80)$/

/** Returns why the firmware of a cluster of the model can't be upgraded; null if it can. See decision 51. */
export function findClusterRefusal(model: string): string | null {
  if (upgradesInBand.test(model)) return null
  return `the firmware of an ${model} cluster is not upgraded from here, because its preparations can't be checked: upgrade it on the gateway itself`
}

/** The first release that a cluster with an older one can't be upgraded to in band. Source: as above. */
const OTHER_SYSTEM = 24.4

/**
 * Returns the reason why the cluster can't be upgraded to the version; null if there is no known reason, or no cluster.
 */
export function refuseClusterVersion({ model, version: own, nodes }: JunosFacts, version: string): Rejection | null {
  if (nodes.length === 0) return null
  const absent = nodes.find(({ isPresent }) => !isPresent)
  if (absent !== undefined) return rejected('node_absent', `${absent.node} does not answer`)
  if (releaseOf(own) >= OTHER_SYSTEM || releaseOf(version) < OTHER_SYSTEM) return null
  const text = `An ${model} cluster can't be upgraded in band from ${own} to ${version}: upgrade it on the gateway itself`
  return rejected('not_in_band', text, true)
}

/** `23.4R2-S2.1` is of release 23.4. */
function releaseOf(version: string): number {
  return Number(/^\d+\.\d+/.exec(version)?.[0] ?? 0)
}

/**
 * Installs the package on both nodes. A cluster does not reply before it reboots, so a broken connection proves
 * nothing: the outcome is unknown until the versions of both nodes are read. The reboot is recorded before the request
 * is sent.
 */
export function* upgradeCluster(path: string): Task {
  const reply = yield { rpc: rpcs.upgradeCluster(path), timeoutMs: waits.upgradeCluster, step: { step: 'reboot' } }
  const failure = packageFailure(reply)
  if (failure === null) return { kind: 'done', text: null }
  return isBusy.test(failure) ? rejected(BUSY, failure) : rejected('install_failed', failure)
}
