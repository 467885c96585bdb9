"""Training for reference values: AdamW with global-norm clipping, and the learning rates of a run."""

import math

import torch

from batches import doubles


def train(p, batches, rates, loss_sum, is_decayed, optimizer):
    """AdamW on the weighted mean loss, with global-norm clipping; yields (loss, gradient norm before clipping) and updates `p` in place.

    loss_sum(p, tokens, targets, weights) is the sum over tokens; is_decayed(name, shape) says which parameters decay.
    """
    decayed = [value for name, value in p.items() if is_decayed(name, value.shape)]
    others = [value for name, value in p.items() if not is_decayed(name, value.shape)]
    adamw = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": optimizer["weightDecay"]}, {"params": others, "weight_decay": 0.0}],
        lr=0.0,
        betas=(optimizer["beta1"], optimizer["beta2"]),
        eps=optimizer["epsilon"],
    )
    for (tokens, targets, weights), rate in zip(batches, rates):
        for group in adamw.param_groups:
            group["lr"] = rate
        adamw.zero_grad(set_to_none=True)
        loss = loss_sum(p, tokens, targets, weights) / weights.sum()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(p.values()), optimizer["clipNorm"])
        adamw.step()
        yield loss.item(), norm.item()


def reference_run(writer, initial, batches, rates, logits, loss_sum, is_decayed, optimizer):
    """What a fixture says of a model: logits, loss and gradients of the first batch, then a training -> (fields of the index, trained parameters)

    logits(p, tokens) and loss_sum, is_decayed as for `train`; the tensors go to the writer.
    """
    p = doubles(initial)
    tokens, targets, weights = batches[0]
    scores = logits(p, tokens)
    loss = loss_sum(p, tokens, targets, weights)
    (loss / weights.sum()).backward()
    fields = {
        "optimizer": optimizer,
        "learningRates": rates,
        "lossSum": loss.item(),
        "weightSum": weights.sum().item(),
        "logits": writer.add(scores),
        "gradients": [{"name": name, **writer.add(value.grad)} for name, value in p.items()],
    }
    p = doubles(initial)
    history = list(train(p, batches, rates, loss_sum, is_decayed, optimizer))
    fields["losses"] = [loss for loss, _ in history]
    fields["gradientNorms"] = [norm for _, norm in history]
    fields["trained"] = [{"name": name, **writer.add(value)} for name, value in p.items()]
    return fields, p


def warmup_cosine(peak, warmup, steps, minimum_ratio):
    """Rates of steps 0..steps-1: linear from 0 over `warmup` steps, then half a cosine down to peak * minimum_ratio."""
    rates = []
    for step in range(steps):
        if step < warmup:
            rates.append(peak * step / warmup)
        else:
            progress = (step - warmup) / (steps - warmup)
            rates.append(peak * (minimum_ratio + (1 - minimum_ratio) * 0.5 * (1 + math.cos(math.pi * progress))))
    return rates
