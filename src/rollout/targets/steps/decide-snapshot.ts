import type { DeviceNow, TargetDecision, TargetNow, TargetRules } from '../target.ts'

const wait: TargetDecision = { kind: 'wait' }

/**
 * Decides the next step of a target whose device has been upgraded and verified, and is to take a recovery snapshot. It
 * is requested once: whatever its result, the device stays upgraded, and the reason explains why it has no snapshot.
 */
export function decideSnapshot(target: TargetNow, rules: TargetRules): TargetDecision {
  const { device, command, enteredMs } = target
  if (device === null) return endWithout('removed')
  // A device that ran the version already when it was retried has no command.
  if (command?.kind !== 'snapshot') return decideRequest(target, device, rules)
  switch (command.state) {
    case 'queued': {
      const overdue = rules.nowMs >= enteredMs + rules.options.commandExpiryMs
      return rules.stopping || overdue ? { kind: 'withdraw', commandId: command.id } : wait
    }
    case 'sent':
      return rules.nowMs < enteredMs + rules.options.stallMs ? wait : endWithout('timeout')
    case 'done':
      return { kind: 'move', to: 'upgraded' }
    case 'rejected':
      return endWithout(command.refusal ?? 'refused')
    case 'unknown':
      return endWithout(command.loss ?? 'timeout')
    case 'expired':
    case 'cancelled':
      return endWithout(rules.stopping ? 'cancelled' : 'offline')
  }
}

function decideRequest(target: TargetNow, device: DeviceNow, rules: TargetRules): TargetDecision {
  if (rules.stopping) return endWithout('cancelled')
  if (!device.commands.includes('snapshot')) return endWithout('not_supported')
  if (rules.held) return wait
  const { failedAttempts, lostAttempts } = target
  if (device.link === 'connected') return { kind: 'command', order: 'snapshot', failedAttempts, lostAttempts }
  const untilMs = Math.max(target.enteredMs + rules.options.commandExpiryMs, rules.graceUntilMs)
  return rules.nowMs < untilMs ? { kind: 'wait', untilMs } : endWithout('offline')
}

function endWithout(reason: string): TargetDecision {
  return { kind: 'move', to: 'upgraded', reason }
}
