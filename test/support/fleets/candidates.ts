import type { Candidate } from '../../../src/rollout/store-candidates.ts'
import type { CatalogEntry } from '../../../src/upgrades/planning/plan-versions.ts'

/** Makes a connected access point that runs 1.0. Its id differs from its MAC address, so a test notices if they are confused. */
export function candidateOf(mac: string, traits: Partial<Candidate> = {}): Candidate {
  const named = { id: `id of ${mac}`, siteId: 'site', mac, type: 'ap', model: 'AP-1', name: null, role: null } as const
  const reported = { connected: true, fromVersion: '1.0', memberVersions: [], commands: [] }
  return { ...named, ...reported, snapshotRefusal: null, mayRestore: false, upgradeRefusal: null, ...traits }
}

/** Makes a version for AP-1 that can be installed on any other one. */
export function catalogEntry(version: string, traits: Partial<CatalogEntry> = {}): CatalogEntry {
  const plain = { tag: null, channel: null, reported: [], minVersion: null }
  return { model: 'AP-1', version, imageId: `image ${version}`, ...plain, ...traits }
}
