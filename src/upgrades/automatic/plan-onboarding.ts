import type { UpgradeRequest } from '../org-upgrade.ts'
import { bigBang } from '../strategies/big-bang.ts'
import { automaticRequest } from './automatic-request.ts'
import type { NewDevices, Onboarding } from './onboarding.ts'

/** Source: contract, `ssr_upgrade_channel`. */
const DEFAULT_CHANNEL = 'stable'

interface OnboardingUpgrade extends Pick<NewDevices, 'siteId' | 'setting' | 'type'> {
  readonly deviceIds: ReadonlySet<string>
  readonly rule: Onboarding
}

/** Returns the request for the upgrade of new devices, all at once, because nobody depends on them yet. */
export function requestOfOnboarding({ siteId, deviceIds, type, setting, rule }: OnboardingUpgrade): UpgradeRequest {
  const { channel = DEFAULT_CHANNEL, version = setting === 'ssr' ? channel : null } = rule
  return automaticRequest({
    kind: setting === 'ssr' ? 'ssr' : 'device',
    siteId,
    deviceIds,
    type,
    version,
    ofModels: rule.custom_versions ?? {},
    snapshot: rule.snapshot === true && setting !== 'ssr',
    strategy: { name: bigBang.name, phasing: bigBang.parse({}) },
    endsAt: null,
    setting: `${setting}.auto_upgrade`,
  })
}
