/** Returns how many of the upgrades had each strategy. */
export function countStrategies(strategies: readonly string[]): Readonly<Record<string, number>> {
  const alike = Map.groupBy(strategies, (strategy) => strategy)
  return Object.fromEntries([...alike].map(([strategy, some]) => [strategy, some.length]))
}
