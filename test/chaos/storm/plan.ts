/**
 * Plans which faults come when, from the seed alone: nothing that happens during the storm changes the plan.
 *
 * Faults are dealt like cards: all come once before any comes again, so that even a short storm tries all of them.
 */
import { createRandom, deriveSeed } from "../../random.ts";

export interface Card {
  name: string;
  /** How often it comes per deal. */
  weight: number;
}

export interface Step {
  /** Its start, relative to the start of the round. */
  atMs: number;
  fault: string;
  /** For the choices of this step: target, length, kind of damage. */
  seed: number;
}

export interface RoundShape {
  stepsPerRound: number;
  /** All steps start within this time. */
  spanMs: number;
}

/** Returns the steps of one round, ordered by their start. */
export function planRound(seed: number, round: number, cards: readonly Card[], shape: RoundShape): Step[] {
  const { stepsPerRound, spanMs } = shape;
  const random = createRandom(deriveSeed(seed, "times", round));
  return Array.from({ length: stepsPerRound }, (_, index) => ({
    atMs: random.integer(0, spanMs),
    fault: cardAt(seed, round * stepsPerRound + index, cards),
    seed: deriveSeed(seed, "step", round, index),
  })).sort((a, b) => a.atMs - b.atMs);
}

function cardAt(seed: number, place: number, cards: readonly Card[]): string {
  const deck = cards.flatMap(({ name, weight }) => Array.from({ length: weight }, () => name));
  const shuffled = createRandom(deriveSeed(seed, "deck", Math.floor(place / deck.length))).shuffle(deck);
  return shuffled[place % deck.length]!;
}
