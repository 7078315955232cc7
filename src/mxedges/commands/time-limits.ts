/**
 * The time limits of agents, declared once for the agent, the gateway and the upgrades of edge appliances. Each limit
 * of the gateway exceeds the agent's own for the same work, so that no command counts as lost while it runs.
 */
const MINUTE_MS = 60_000

/** After this time the agent kills a command of the operator, with all of its child processes. */
export const hookLimitsMs = {
  /** Services, ports, access points, the configuration, and reboots. Service managers wait up to 90 s for a service. */
  control: 150_000,
  installPackage: 15 * MINUTE_MS,
  installFirmware: 25 * MINUTE_MS,
  downloadDistro: 60 * MINUTE_MS,
  upgradeDistro: 60 * MINUTE_MS,
  support: 10 * MINUTE_MS,
} as const

/** After this time the agent ends a download, which may have broken off often. */
export const DOWNLOAD_LIMIT_MS = 6 * 60 * MINUTE_MS

/** After this time the agent ends an upload. */
export const UPLOAD_LIMIT_MS = 10 * MINUTE_MS

/** Allows for the frames, the records on disk, and the report that precedes an answer. */
const MARGIN_MS = 100_000

/** From a call, or a report of progress, to the next report: the agent reports a download at least once a minute. */
const SILENT_DOWNLOAD_MS = 5 * MINUTE_MS

/** How long a connected agent may be silent about a command. */
export interface StepLimits {
  /** From the call to the answer, or to the first report of progress. */
  readonly callMs: number
  /** From a report of progress on, by the step in the report. */
  readonly downloadMs: number
  readonly installMs: number
  /** From the call on, however often the agent reports progress. */
  readonly longestMs: number
}

/**
 * The limits of a command that runs `hookMs`, after a hook that an earlier process of the agent may have left.
 * @param downloadLimitMs The limit of a download that comes before, about which the agent reports.
 */
function afterEarlier(hookMs: number, downloadLimitMs = 0): StepLimits {
  const installMs = 2 * hookMs + MARGIN_MS
  const longestMs = installMs + downloadLimitMs + installMs
  return { callMs: installMs, downloadMs: SILENT_DOWNLOAD_MS, installMs, longestMs }
}

const download: StepLimits = {
  callMs: SILENT_DOWNLOAD_MS,
  downloadMs: SILENT_DOWNLOAD_MS,
  installMs: SILENT_DOWNLOAD_MS,
  longestMs: DOWNLOAD_LIMIT_MS + SILENT_DOWNLOAD_MS,
}
/** The operator's command reports no percentage, so the download may be silent as long as it runs. */
const downloadOfDistro: StepLimits = {
  ...afterEarlier(hookLimitsMs.downloadDistro),
  downloadMs: afterEarlier(hookLimitsMs.downloadDistro).callMs,
}
const restartMs = 20 * MINUTE_MS
const control = afterEarlier(hookLimitsMs.control)
const support = afterEarlier(hookLimitsMs.support + UPLOAD_LIMIT_MS)

/** By the method of the agent of an edge appliance. */
export const applianceLimits = {
  'service.control': control,
  /** Ports go down, and up again; the time between is added. */
  'port.bounce': afterEarlier(2 * hookLimitsMs.control),
  'aps.disconnect': control,
  configure: control,
  stage: download,
  'service.upgrade': afterEarlier(hookLimitsMs.installPackage, DOWNLOAD_LIMIT_MS),
  /** The command waits for an upgrade that an earlier process of the agent began. */
  'distro.stage': downloadOfDistro,
  'distro.upgrade': afterEarlier(hookLimitsMs.upgradeDistro),
  support,
} as const satisfies Readonly<Record<string, StepLimits>>

/** By the method of the agent of an SSR router. */
export const routerLimits = {
  /** The agent answers before the router goes down, or else after it has booted. */
  restart: { ...control, callMs: restartMs, longestMs: restartMs + control.longestMs },
  stage: download,
  activate: afterEarlier(hookLimitsMs.installFirmware + hookLimitsMs.control),
  support,
} as const satisfies Readonly<Record<string, StepLimits>>

/** How long a reconnected agent has to answer a command whose connection was lost, by the kind of the step. */
export const answerLimitsMs = {
  download: applianceLimits.stage.callMs,
  service: applianceLimits['service.upgrade'].callMs,
  distroDownload: applianceLimits['distro.stage'].callMs,
  distro: applianceLimits['distro.upgrade'].callMs,
} as const

/** Longer than any agent is silent about a command to an edge appliance. */
export const LONGEST_SILENCE_MS =
  Math.max(...Object.values(applianceLimits).flatMap(({ callMs, installMs }) => [callMs, installMs])) + 10 * MINUTE_MS
