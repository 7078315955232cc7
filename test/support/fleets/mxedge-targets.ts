import type {
  ApplianceNow,
  MxedgeTargetNow,
  MxedgeUpgradeOptions,
  StepCommand,
  TargetRules,
} from '../../../src/mxedges/upgrades/target.ts'
import type { ServiceStep } from '../../../src/mxedges/upgrades/upgrade.ts'

/** Samples of a target that runs tunterm 1.0.0 and is to run 2.0.0. Times are service time. */
const NOW_MS = 1_000_000

export const options: MxedgeUpgradeOptions = {
  soakMs: 120_000,
  verifyTimeoutMs: 900_000,
  retryMs: 30_000,
  maxAttempts: 3,
  commandExpiryMs: 600_000,
  reconnectGraceMs: 960_000,
  offlineDeadlineMs: 72 * 3_600_000,
  answerMs: { download: 60_000, distroDownload: 90_000, service: 120_000, distro: 240_000 },
  reconnectMs: { service: 1_200_000, distro: 3_600_000 },
}

export const step: ServiceStep = {
  service: 'tunterm',
  from: '1.0.0',
  to: '2.0.0',
  image_id: '00000000-0000-0000-0000-000000000001',
  allow_downgrade: false,
}

export const appliance: ApplianceNow = {
  link: 'connected',
  connectedMs: NOW_MS - 600_000,
  isReplaced: false,
  hasLeft: false,
  clusterId: null,
  canStage: false,
  canStageDistro: false,
  services: [{ name: 'tunterm', version: '1.0.0', state: 'running' }],
  distro: 'bookworm',
}

export const command: StepCommand = {
  id: '00000000-0000-0000-0000-000000000002',
  state: 'sent',
  refusal: null,
  refusalIsFinal: false,
  isForgotten: false,
  isGatewayLost: false,
  isTimedOut: false,
}

export const target: MxedgeTargetNow = {
  mxedgeId: '00000000-0000-0000-0000-000000000003',
  phase: 1,
  wave: 1,
  plannedSiteId: null,
  state: 'planned',
  enteredMs: NOW_MS,
  steps: [step],
  step: 0,
  staged: 0,
  attempt: 0,
  failedAttempts: 0,
  lostAttempts: 0,
  retryAtMs: null,
  appliance,
  command: null,
}

export const rules: TargetRules = {
  nowMs: NOW_MS,
  options,
  stopping: false,
  held: false,
  isPhaseOpen: true,
  isOpen: true,
  isClusterFree: true,
  offlineDeadlineMs: null,
  graceUntilMs: 0,
  beginMs: () => 0,
}
