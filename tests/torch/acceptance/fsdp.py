"""FSDP, old and new, on torch's own models and parity checks, with Weft in the place of Gloo.

The tests themselves are not in torch's wheel; what they are made of is.
"""
# ruff: noqa: PT009 (torch's assertEqual compares tensors)

import copy
import os
import unittest

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from torch.nn.parallel import DistributedDataParallel
from torch.testing._internal import common_fsdp
from torch.testing._internal.common_fsdp import (
    DEVICEInitMode,
    FSDPInitMode,
    FSDPTest,
    FSDPTestMixin,
    MLPStack,
    NestedWrappedModule,
    NonUniformReqGradNWM,
    TransformerWithSharedParams,
    check_sharded_parity,
)
from torch.testing._internal.common_utils import instantiate_parametrized_tests, parametrize

common_fsdp.DISTRIBUTED_BACKEND = os.environ["WEFT_ACCEPTANCE_BACKEND"]
WORLD_SIZE = int(os.environ["WORLD_SIZE"])

# Without it FullyShardedDataParallel looks for an accelerator.
CPU = {"device_id": torch.device("cpu")}


class OnCpu(FSDPTest):
    """WORLD_SIZE processes without an accelerator, which FSDPTest itself insists on."""

    _run = classmethod(FSDPTestMixin._run.__func__)

    @property
    def world_size(self) -> int:
        """The processes of a test."""
        return WORLD_SIZE


class TestFsdp1(OnCpu):
    """FullyShardedDataParallel trains to what DistributedDataParallel trains to."""

    def parity(self, model, **options) -> None:
        """Some steps of both; equal losses and parameters."""
        self._test_fsdp_parity(
            model, FSDPInitMode.RECURSIVE, DEVICEInitMode.DEVICE_BEFORE, **options, **CPU
        )

    @parametrize("strategy", ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"])
    @parametrize("use_orig_params", [False, True])
    def test_nested(self, strategy, use_orig_params):
        self.parity(
            NestedWrappedModule,
            sharding_strategy=ShardingStrategy[strategy],
            use_orig_params=use_orig_params,
        )

    @parametrize("strategy", ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"])
    @parametrize("use_orig_params", [False, True])
    def test_transformer(self, strategy, use_orig_params):
        self.parity(
            TransformerWithSharedParams,
            sharding_strategy=ShardingStrategy[strategy],
            use_orig_params=use_orig_params,
        )

    def test_parameters_without_gradients(self):
        self.parity(NonUniformReqGradNWM, use_orig_params=True)

    def test_bfloat16(self):
        half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
        models = [
            DistributedDataParallel(self.nested()),
            FullyShardedDataParallel(self.nested(), mixed_precision=half, **CPU),
        ]
        optimizers = [torch.optim.Adam(model.parameters()) for model in models]
        for _ in range(3):
            losses = [self.step(*both) for both in zip(models, optimizers, strict=True)]
            self.assertEqual(losses[0], losses[1].float(), atol=0.05, rtol=0.05)

    @unittest.skipIf(WORLD_SIZE < 4, "FSDP shards over one rank as over all: not at all")
    def test_hybrid_shard(self):
        across, inside = init_device_mesh("cpu", (2, WORLD_SIZE // 2)).get_all_groups()
        for strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2):
            sharded = FullyShardedDataParallel(
                self.nested(), (inside, across), sharding_strategy=strategy, **CPU
            )
            losses = [
                self._train_for_several_steps(model, 3, autocast=False)
                for model in (DistributedDataParallel(self.nested()), sharded)
            ]
            self.assertEqual(losses[0], losses[1])

    def nested(self) -> torch.nn.Module:
        """The same parameters on all ranks."""
        return NestedWrappedModule.init(
            self.process_group,
            FSDPInitMode.NO_FSDP,
            DEVICEInitMode.DEVICE_BEFORE,
            deterministic=True,
        )

    @parametrize("norm", [1.0, 2.0, float("inf")])
    def test_gradient_norm(self, norm):
        replicated = DistributedDataParallel(self.nested())
        sharded = FullyShardedDataParallel(self.nested(), **CPU)
        for model in (replicated, sharded):
            given = model.module.get_input(torch.device("cpu"))
            model.module.get_loss(given, model(*given)).backward()
        expected = torch.nn.utils.clip_grad_norm_(replicated.parameters(), 0.5, norm)
        self.assertGreater(expected, 0.5)
        self.assertEqual(sharded.clip_grad_norm_(0.5, norm), expected)

    @parametrize("kind", [kind.name for kind in StateDictType])
    def test_state_of_model_and_optimizer(self, kind):
        models = [FullyShardedDataParallel(self.nested(), **CPU) for _ in range(2)]
        optimizers = [torch.optim.Adam(model.parameters()) for model in models]
        self.step(models[0], optimizers[0])
        with FullyShardedDataParallel.state_dict_type(models[0], StateDictType[kind]):
            state = models[0].state_dict()
            of_optimizer = FullyShardedDataParallel.optim_state_dict(models[0], optimizers[0])
        with FullyShardedDataParallel.state_dict_type(models[1], StateDictType[kind]):
            models[1].load_state_dict(state)
            optimizers[1].load_state_dict(
                FullyShardedDataParallel.optim_state_dict_to_load(
                    models[1], optimizers[1], of_optimizer
                )
            )
        losses = [self.step(*both) for both in zip(models, optimizers, strict=True)]
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(*map(common_fsdp.get_full_params, models))

    def step(self, model, optimizer) -> torch.Tensor:
        """One step of training; its loss."""
        optimizer.zero_grad()
        given = model.module.get_input(torch.device("cpu"))
        loss = model.module.get_loss(given, model(*given))
        loss.backward()
        optimizer.step()
        return loss.detach()


class TestFsdp2(OnCpu):
    """fully_shard trains to what DistributedDataParallel trains to."""

    WIDTH = 16

    def pair(self, group=None) -> tuple[torch.nn.Module, torch.nn.Module]:
        """A model wrapped by DDP, and the same to be sharded."""
        torch.manual_seed(7)
        model = MLPStack(self.WIDTH)
        return DistributedDataParallel(copy.deepcopy(model), process_group=group), model

    def sharded_pair(self, **options) -> tuple[torch.nn.Module, torch.nn.Module]:
        """Both, the second sharded by layers."""
        replicated, sharded = self.pair()
        for layer in sharded:
            fully_shard(layer, **options)
        return replicated, fully_shard(sharded, **options)

    def train(self, replicated, sharded, seed, tolerance=None) -> None:
        """Some steps of both, with equal losses."""
        models = (replicated, sharded)
        optimizers = [torch.optim.Adam(model.parameters(), lr=1e-2) for model in models]
        torch.manual_seed(seed)
        for _ in range(4):
            given = torch.randn(8, self.WIDTH)
            losses = []
            for model, optimizer in zip(models, optimizers, strict=True):
                optimizer.zero_grad()
                losses.append(model(given).sum())
                losses[-1].backward()
                optimizer.step()
            self.assertEqual(losses[0], losses[1].float(), atol=tolerance, rtol=tolerance)

    @parametrize("reshard_after_forward", [True, False])
    def test_one_dimension(self, reshard_after_forward):
        replicated, sharded = self.sharded_pair(reshard_after_forward=reshard_after_forward)
        self.train(replicated, sharded, seed=self.rank)
        check_sharded_parity(self, replicated.module, sharded)

    def test_hybrid(self):
        mesh = init_device_mesh("cpu", (2, WORLD_SIZE // 2), mesh_dim_names=("replicate", "shard"))
        replicated, sharded = self.sharded_pair(mesh=mesh)
        self.train(replicated, sharded, seed=self.rank)
        check_sharded_parity(self, replicated.module, sharded)

    def test_divide_factor(self):
        replicated, sharded = self.sharded_pair()
        for layer in sharded:
            layer.set_gradient_divide_factor(2.0 * WORLD_SIZE)
        given = torch.randn(8, self.WIDTH)
        (replicated(given).sum() / 2).backward()
        sharded(given).sum().backward()
        check_sharded_parity(self, replicated.module, sharded)

    def test_bfloat16(self):
        half = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
        replicated, sharded = self.sharded_pair(mp_policy=half)
        self.train(replicated, sharded, seed=self.rank, tolerance=0.05)

    def test_accumulated_gradients(self):
        replicated, sharded = self.sharded_pair()
        torch.manual_seed(self.rank)
        for last in (False, True):
            given = torch.randn(8, self.WIDTH)
            replicated.require_backward_grad_sync = last
            sharded.set_requires_gradient_sync(last)
            replicated(given).sum().backward()
            sharded(given).sum().backward()
        check_sharded_parity(self, replicated.module, sharded)

    @parametrize("checkpointed", [False, True])
    def test_beside_tensor_parallelism(self, checkpointed):
        mesh = init_device_mesh("cpu", (WORLD_SIZE // 2, 2), mesh_dim_names=("dp", "tp"))
        replicated, sharded = self.pair(mesh["dp"].get_group())
        sharded.parallelize(mesh["tp"], mesh["dp"], use_activation_checkpointing=checkpointed)
        self.train(replicated, sharded, seed=mesh["dp"].get_local_rank())


instantiate_parametrized_tests(TestFsdp1)
instantiate_parametrized_tests(TestFsdp2)
CASES = [TestFsdp1, TestFsdp2]
