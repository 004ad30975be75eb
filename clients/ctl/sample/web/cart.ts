import { formatMoney } from "./money";

export class Cart {
  private cents: number[] = [];

  add(cents: number): void {
    this.cents.push(cents);
  }

  label(): string {
    return `${this.cents.length} items, ${formatMoney(this.sum())}`;
  }

  private sum(): number {
    return this.cents.reduce((left, right) => left + right, 0);
  }
}
